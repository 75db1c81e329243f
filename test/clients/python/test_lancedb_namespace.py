"""`lancedb` 0.40 on a namespace: joust provides the locations, and the SDK reads and writes the tables itself."""

import lance_namespace as ns
import lancedb
import pytest
from data import items, vector_of
from rows import ids


@pytest.fixture(params=[[], ["QueryTable"]], ids=["reads itself", "joust answers queries"])
def database(request, server):
    properties = {"uri": server.url, "header.x-api-key": server.key}
    return lancedb.connect_namespace(
        "rest", properties, namespace_client_pushdown_operations=request.param
    )


def test_tables_and_rows(database, rest, name):
    database.create_namespace([name])
    place = {"namespace_path": [name]}
    table = database.create_table("one", items(200), **place)
    table.add(items(10, start=200))
    table.delete("id < 5")
    merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    merge.execute(items(10, start=205))
    assert table.count_rows() == 210
    count = ns.CountTableRowsRequest(id=[name, "one"], predicate="id >= 210")
    assert rest.count_table_rows(count).count == 5

    found = table.search(vector_of(items(200), 42)).limit(2).to_arrow()
    assert found["id"][0].as_py() == 42
    assert ids(database.open_table("one", **place)) == list(range(5, 215))
    assert list(database.list_tables([name]).tables) == ["one"]
    with pytest.raises(Exception, match="already exists"):
        database.create_table("one", items(1), **place)
    assert database.create_table("one", items(3), mode="overwrite", **place).count_rows() == 3
    database.drop_table("one", **place)
    assert list(database.list_tables([name]).tables) == []
    database.drop_namespace([name])
    assert name not in database.list_namespaces().namespaces


def test_versions_and_columns(database, name):
    database.create_namespace([name])
    table = database.create_table("one", items(10), namespace_path=[name])
    table.add_columns({"twice": "price * 2"})
    assert table.count_rows("twice = id") == 10
    table.tags.create("first", 1)
    table.checkout("first")
    assert "twice" not in table.schema.names
    table.restore()
    assert table.version == 3
    assert [version["version"] for version in table.list_versions()] == [1, 2, 3]
