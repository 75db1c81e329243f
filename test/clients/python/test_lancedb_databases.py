"""`lancedb` in remote mode with a catalog: each database is a namespace of its own."""

import lancedb
import pytest
from data import items, vector_of
from joust_server import JoustServer, TemporaryRoot

pytestmark = pytest.mark.since("0.40")


@pytest.fixture(scope="module")
def running():
    with TemporaryRoot() as root, JoustServer(root) as server:
        yield server


@pytest.fixture
def catalog(running):
    return lancedb.connect_catalog(running.url, api_key=running.key)


@pytest.fixture
def root(running):
    return lancedb.connect("db://joust", api_key=running.key, host_override=running.url)


def names(database, **place):
    return list(database.list_tables(**place).tables)


def test_databases_share_no_table(catalog, root):
    root.create_table("items", items(3))
    first = catalog.create_database("first")
    second = catalog.create_database("second", exist_ok=True)
    assert catalog.list_databases().databases == ["first", "second"]
    assert names(first) == names(second) == []

    table = first.create_table("items", items(200))
    second.create_table("items", items(5))
    table.add(items(10, start=200))
    table.delete("id < 5")
    found = table.search(vector_of(items(200), 42)).limit(1).to_arrow()
    assert found["id"][0].as_py() == 42
    assert table.count_rows() == 205
    assert second.open_table("items").count_rows() == 5
    assert root.open_table("items").count_rows() == 3
    assert root.open_table("items", namespace_path=["first"]).count_rows() == 205

    table.create_index("id", config=lancedb.index.BTree())
    table.tags.create("now", table.version)
    assert list(table.tags.list()) == ["now"]
    assert list(root.open_table("items").tags.list()) == []

    second.drop_table("items")
    assert names(second) == []
    assert names(root) == ["items"]
    catalog.drop_database("second")
    assert catalog.list_databases().databases == ["first"]


def test_namespaces_in_a_database(catalog, root):
    database = catalog.create_database("nested")
    database.create_namespace(["inner"])
    database.create_table("deep", items(4), namespace_path=["inner"])
    assert list(database.list_namespaces().namespaces) == ["inner"]
    assert names(database, namespace_path=["inner"]) == ["deep"]
    assert root.open_table("deep", namespace_path=["nested", "inner"]).count_rows() == 4
    with pytest.raises(Exception, match="not found|does not exist"):
        database.open_table("deep")
    database.drop_table("deep", namespace_path=["inner"])
    database.drop_namespace(["inner"])
    assert list(database.list_namespaces().namespaces) == []


def test_a_dropped_database_does_not_reach_the_root(catalog, root):
    root.create_table("kept", items(3), mode="overwrite")
    database = catalog.create_database("short")
    with pytest.raises(Exception, match="short"):
        catalog.create_database("short")
    catalog.drop_database("short")
    with pytest.raises(Exception, match="short|not found"):
        catalog.connect_database("short")
    with pytest.raises(Exception, match="short|not found|does not exist"):
        database.create_table("new", items(1))
    with pytest.raises(Exception, match="short|not found|does not exist"):
        database.open_table("kept")
    with pytest.raises(Exception, match="short"):
        database.drop_table("kept")
    assert "kept" in names(root)


def test_a_connection_by_name_selects_an_existing_database(catalog, running, root):
    catalog.create_database("named").create_table("mine", items(2))
    by_name = {"api_key": running.key, "host_override": running.url}
    assert names(lancedb.connect("db://named", **by_name)) == ["mine"]
    assert names(lancedb.connect("db://unused", **by_name)) == names(root)
