"""`lancedb` 0.40 in remote mode: tables and namespaces."""

import warnings
from datetime import timedelta

import lance_namespace as ns
import lancedb
import pyarrow as pa
import pytest
from data import items
from lancedb.index import BTree
from lancedb.pydantic import LanceModel, Vector
from lancedb.remote.errors import RetryError
from rows import ids


def table_names(database, **page) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return list(database.table_names(**page))


class Colour(LanceModel):
    name: str
    vector: Vector(2)


def batches():
    for start in (0, 4):
        yield items(4, start=start).to_batches()[0]


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        ([{"name": "red", "vector": [1.0, 0.0]}, {"name": "blue", "vector": [0.0, 1.0]}], 2),
        (items(7), 7),
        (items(7).to_batches()[0], 7),
        (pa.RecordBatchReader.from_batches(items(1).schema, batches()), 8),
        ([Colour(name="red", vector=[1.0, 0.0])], 1),
    ],
    ids=["list", "table", "batch", "reader", "models"],
)
def test_a_table_is_created_from(database, name, data, rows):
    table = database.create_table(name, data)
    assert table.name == name
    assert table.version == 1
    assert table.count_rows() == rows
    assert "name" in table.schema.names
    assert pa.types.is_fixed_size_list(table.schema.field("vector").type)


@pytest.mark.parametrize("schema", [items(1).schema, Colour], ids=["arrow", "model"])
def test_an_empty_table_has_its_schema(database, name, schema):
    table = database.create_table(name, schema=schema)
    expected = schema.to_arrow_schema() if schema is Colour else schema
    assert table.schema == expected
    assert table.count_rows() == 0
    assert table.search().limit(5).to_arrow().num_rows == 0
    near = [0.0] * expected.field("vector").type.list_size
    assert table.search(near).limit(5).to_arrow().num_rows == 0


def test_modes_of_creation(database, name):
    database.create_table(name, items(3))
    with pytest.raises(ValueError, match="already exists"):
        database.create_table(name, items(5))
    kept = database.create_table(name, items(5), exist_ok=True)
    assert ids(kept) == [0, 1, 2]
    assert kept.version == 1
    other = pa.table({"word": ["one"]})
    kept = database.create_table(name, other, exist_ok=True)
    assert kept.schema == items(1).schema
    replaced = database.create_table(name, other, mode="overwrite")
    assert replaced.schema.names == ["word"]
    assert replaced.count_rows() == 1
    assert database.open_table(name).count_rows() == 1


def test_creation_rejects_invalid_vectors(database, name):
    rows = [{"id": 1, "vector": [1.0, float("nan")]}, {"id": 2, "vector": [3.0, 4.0]}]
    with pytest.raises(Exception, match="NaN|bad"):
        database.create_table(name, rows)
    with pytest.raises(Exception, match="not found"):
        database.open_table(name)
    assert ids(database.create_table(name, rows, on_bad_vectors="drop")) == [2]


@pytest.mark.parametrize("wrong", ["with space", "with/slash", "", "ünïcode"])
def test_the_client_rejects_invalid_names(database, wrong):
    with pytest.raises(ValueError):
        database.create_table(wrong, items(1))


def test_an_unknown_table(database):
    with pytest.raises(ValueError, match="not found"):
        database.open_table("nowhere")
    # Required by the SDK's own test of its server.
    database.drop_table("nowhere")


def test_listing(server_database):
    database = server_database
    names = [f"listed_{number:02}" for number in range(25)]
    for name in reversed(names):
        database.create_table(name, schema=pa.schema([("id", pa.int64())]))
    assert table_names(database) == names[:10]
    assert table_names(database, limit=100) == names
    assert table_names(database, page_token=names[9], limit=3) == names[10:13]
    assert table_names(database, page_token="listed_095", limit=2) == names[10:12]
    assert table_names(database, page_token=names[-1]) == []

    seen, token, pages = [], None, 0
    while True:
        page = database.list_tables(page_token=token, limit=10)
        seen += page.tables
        pages += 1
        token = page.page_token
        if not token:
            break
    assert (seen, pages) == (names, 3)


@pytest.mark.since("0.40")
def test_rename_and_drop(database, name):
    database.create_table(name, items(3))
    database.create_table(f"{name}_other", items(1))
    with pytest.raises(Exception, match="already exists"):
        database.rename_table(name, f"{name}_other")
    database.rename_table(name, f"{name}_new")
    with pytest.raises(ValueError, match="not found"):
        database.open_table(name).count_rows()
    assert database.open_table(f"{name}_new").count_rows() == 3
    database.drop_table(f"{name}_new")
    with pytest.raises(ValueError, match="not found"):
        database.open_table(f"{name}_new").count_rows()
    job = database.drop_table_async(f"{name}_other")
    job.wait()
    with pytest.raises(ValueError, match="not found"):
        database.open_table(f"{name}_other").count_rows()


@pytest.mark.since("0.40")
def test_namespaces(database, name):
    made = database.create_namespace([name], properties={"team": "search"})
    assert made.properties["team"] == "search"
    with pytest.raises(Exception, match="already exists"):
        database.create_namespace([name])
    database.create_namespace([name], mode="exist_ok")
    database.create_namespace([name, "inner"], mode="create")
    database.create_namespace([name, "other"])
    assert name in database.list_namespaces(limit=1000).namespaces
    page = database.list_namespaces([name], limit=1)
    assert page.namespaces == ["inner"]
    page = database.list_namespaces([name], page_token=page.page_token, limit=1)
    assert page.namespaces == ["other"]
    assert database.describe_namespace([name]).properties["team"] == "search"
    with pytest.raises(Exception, match="does not exist"):
        database.describe_namespace([name, "nowhere"])

    place = {"namespace_path": [name, "inner"]}
    table = database.create_table("deep", items(4), **place)
    assert table.count_rows() == 4
    assert database.open_table("deep", **place).count_rows() == 4
    assert table_names(database, **place) == ["deep"]
    assert database.list_tables([name, "inner"]).tables == ["deep"]
    assert "deep" not in table_names(database, limit=1000)
    with pytest.raises(ValueError, match="not found"):
        database.open_table("deep")

    database.rename_table(
        "deep",
        "moved",
        cur_namespace_path=[name, "inner"],
        new_namespace_path=[name, "other"],
    )
    assert database.list_tables([name, "inner"]).tables == []
    assert database.open_table("moved", namespace_path=[name, "other"]).count_rows() == 4

    with pytest.raises(Exception, match="not empty|409"):
        database.drop_namespace([name, "other"])
    database.drop_namespace([name, "inner"])
    database.drop_namespace([name, "inner"], mode="SKIP")
    with pytest.raises(Exception, match="not exist|not found|404"):
        database.drop_namespace([name, "inner"])
    database.drop_namespace([name], behavior="CASCADE")
    with pytest.raises(Exception, match="does not exist"):
        database.describe_namespace([name])


def test_the_namespace_client_of_a_connection(database, name):
    """The SDK provides a `lance_namespace` client for the same server and key."""
    database.create_table(name, items(6))
    client = database.namespace_client()
    client.table_exists(ns.TableExistsRequest(id=[name]))
    assert client.count_table_rows(ns.CountTableRowsRequest(id=[name])).count == 6


def test_a_table_is_described(table):
    assert table.uri.endswith(".lance")
    stats = table.stats()
    assert (stats["num_rows"], stats["num_indices"]) == (10, 0)
    assert stats["total_bytes"] > 0
    assert stats["fragment_stats"]["num_fragments"] == 1
    assert stats["fragment_stats"]["lengths"]["max"] == 10


def test_a_wrong_key(server):
    stranger = lancedb.connect("db://joust", api_key="wrong", host_override=server.url)
    with pytest.raises(Exception, match="401"):
        stranger.open_table("any")


@pytest.mark.since("0.39")
def test_failures_are_not_retried(database, table):
    """The client retries on 409 and 5xx and then hides the message: no failure here has such a status."""
    table.tags.create("taken", 1)
    table.create_index("id", config=BTree(), wait_timeout=timedelta(seconds=60))
    failures = [
        lambda: database.create_table(table.name, items(1)),
        lambda: database.rename_table(table.name, table.name),
        lambda: table.tags.create("taken", 1),
        lambda: table.tags.update("nobody", 1),
        lambda: table.create_index("id", config=BTree(), replace=False),
        lambda: table.create_index("nope", config=BTree()),
        lambda: table.drop_index("nobody"),
        lambda: table.restore(99),
        lambda: table.checkout(99),
        lambda: table.add_columns({"id": "1"}),
        lambda: table.alter_columns({"path": "id", "rename": "name"}),
        lambda: table.drop_columns(["nope"]),
        lambda: table.update(where="nope = 1", values={"id": 1}),
        lambda: table.delete("nope = 1"),
        lambda: table.search().where("nope = 1").to_arrow(),
        lambda: table.merge_insert("nope").when_not_matched_insert_all().execute(items(1)),
        lambda: database.drop_namespace(["nowhere"]),
    ]
    for fails in failures:
        with pytest.raises(Exception) as failure:
            fails()
        assert not isinstance(failure.value, RetryError), failure.value


def test_strongly_consistent_reads(server, table):
    eager = lancedb.connect(
        "db://joust",
        api_key=server.key,
        host_override=server.url,
        read_consistency_interval=timedelta(0),
    )
    reader = eager.open_table(table.name)
    for rows in range(11, 16):
        table.add(items(1, start=rows))
        assert reader.count_rows() == rows
