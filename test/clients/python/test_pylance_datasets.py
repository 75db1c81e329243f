"""Datasets that Lance itself writes and reads, through joust as their namespace."""

import concurrent.futures

import lance
import lance_namespace as ns
import pyarrow as pa
import pytest
from data import ipc_stream, items, vector_of


@pytest.fixture(params=["storage", "joust"])
def place(request, rest, name):
    """
    The arguments that locate a dataset. Commits write to the storage, or through joust if the table
    is declared with managed versioning.
    """
    place = {"namespace_client": rest, "table_id": [name]}
    if request.param == "joust":
        properties = {"managed_versioning": "true"}
        rest.declare_table(ns.DeclareTableRequest(id=[name], properties=properties))
        lance.write_dataset(items(10), **place, mode="overwrite")
    else:
        lance.write_dataset(items(10), **place, mode="create")
    return place


@pytest.fixture
def count(rest, name):
    """The row count reported by joust."""
    return lambda: rest.count_table_rows(ns.CountTableRowsRequest(id=[name])).count


def ids(dataset) -> list[int]:
    return sorted(dataset.to_table(columns=["id"])["id"].to_pylist())


def test_append_and_overwrite(place, count):
    assert count() == 10
    lance.write_dataset(items(5, start=10), **place, mode="append")
    dataset = lance.dataset(**place)
    assert (dataset.version, ids(dataset), count()) == (2, list(range(15)), 15)
    lance.write_dataset(items(3, start=7), **place, mode="overwrite")
    dataset = lance.dataset(**place)
    assert (dataset.version, ids(dataset), count()) == (3, [7, 8, 9], 3)
    lance.write_dataset(pa.table({"word": ["new"]}), **place, mode="overwrite")
    assert lance.dataset(**place).schema.names == ["word"]


def test_rows_written_by_joust_are_read(place, rest, name):
    rest.insert_into_table(ns.InsertIntoTableRequest(id=[name]), ipc_stream(items(2, start=10)))
    rest.delete_from_table(ns.DeleteFromTableRequest(id=[name], predicate="id < 4"))
    dataset = lance.dataset(**place)
    assert (dataset.version, ids(dataset)) == (3, list(range(4, 12)))
    nearest = {"column": "vector", "q": vector_of(items(10), 6), "k": 1}
    assert dataset.to_table(nearest=nearest)["id"].to_pylist() == [6]


def test_changes_through_a_dataset(place, count):
    dataset = lance.dataset(**place)
    dataset.delete("id = 0")
    assert count() == 9
    dataset = lance.dataset(**place)
    assert dataset.update({"name": "'new'"}, where="id < 3")["num_rows_updated"] == 2
    merge = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    merged = merge.execute(items(4, start=8))
    assert (merged["num_updated_rows"], merged["num_inserted_rows"]) == (2, 2)
    assert count() == 11
    dataset = lance.dataset(**place)
    dataset.add_columns({"twice": "price * 2"})
    assert "twice" in lance.dataset(**place).schema.names
    dataset = lance.dataset(**place)
    dataset.drop_columns(["twice"])
    assert lance.dataset(**place).schema.names == items(1).schema.names


def test_versions(place, count, rest, name):
    for start in (10, 15):
        lance.write_dataset(items(5, start=start), **place, mode="append")
    dataset = lance.dataset(**place)
    assert [version["version"] for version in dataset.versions()] == [1, 2, 3]
    listed = rest.list_table_versions(ns.ListTableVersionsRequest(id=[name])).versions
    assert [version.version for version in listed] == [1, 2, 3]
    assert lance.dataset(**place, version=1).count_rows() == 10
    assert dataset.checkout_version(2).count_rows() == 15
    old = dataset.checkout_version(1)
    old.restore()
    assert count() == 10
    assert lance.dataset(**place).version == 4


def test_tags(place, rest, name):
    lance.write_dataset(items(5, start=10), **place, mode="append")
    dataset = lance.dataset(**place)
    dataset.tags.create("first", 1)
    assert rest.list_table_tags(ns.ListTableTagsRequest(id=[name])).tags["first"].version == 1
    rest.create_table_tag(ns.CreateTableTagRequest(id=[name], tag="second", version=2))
    tags = lance.dataset(**place).tags
    assert {name: tag["version"] for name, tag in tags.list().items()} == {"first": 1, "second": 2}
    assert lance.dataset(**place, version="first").count_rows() == 10
    tags.update("first", 2)
    version = ns.GetTableTagVersionRequest(id=[name], tag="first")
    assert rest.get_table_tag_version(version).version == 2
    tags.delete("second")
    with pytest.raises(ns.TableTagNotFoundError):
        rest.get_table_tag_version(ns.GetTableTagVersionRequest(id=[name], tag="second"))


def test_indexes(place, rest, name):
    dataset = lance.dataset(**place)
    dataset.create_scalar_index("id", "BTREE")
    listed = rest.list_table_indices(ns.ListTableIndicesRequest(id=[name])).indexes
    assert [(index.index_name, index.columns) for index in listed] == [("id_idx", ["id"])]
    request = ns.CountTableRowsRequest(id=[name], predicate="id = 7")
    assert rest.count_table_rows(request).count == 1


def test_two_writers(place, count):
    """A writer that loses the race for a version tries the next one: no row is lost."""

    def append(start: int) -> None:
        lance.write_dataset(items(5, start=start), **place, mode="append")

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(10, 50, 5)))
    assert count() == 50
    assert ids(lance.dataset(**place)) == list(range(50))


def test_a_dataset_in_a_namespace(server, name):
    client = lance.namespace.RestNamespace(
        uri=server.url, **{"header.x-api-key": server.key, "delimiter": "."}
    )
    client.create_namespace(ns.CreateNamespaceRequest(id=[name]))
    place = {"namespace_client": client, "table_id": [name, "deep"]}
    lance.write_dataset(items(4), **place)
    assert ids(lance.dataset(**place)) == [0, 1, 2, 3]
    assert client.list_tables(ns.ListTablesRequest(id=[name])).tables == ["deep"]
    client.drop_table(ns.DropTableRequest(id=[name, "deep"]))
    with pytest.raises(Exception, match="not exist|not found"):
        lance.dataset(**place)
