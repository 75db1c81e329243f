"""joust serves directories of other Lance tools unchanged, and those tools open joust's tables."""

import time

import lance
import lance_namespace as ns
import lancedb
import pytest
from data import ipc_stream, items, read_ipc_file, vector_of
from joust_server import JoustServer, TemporaryRoot
from lance_namespace_urllib3_client import models


@pytest.fixture
def root():
    with TemporaryRoot() as path:
        yield path


def connect(server: JoustServer):
    header = {"header.Authorization": f"Bearer {server.key}"}
    return ns.connect("rest", {"uri": server.url, **header})


def nearest(rest, table: str, vector: list[float]) -> int:
    request = models.QueryTableRequest(
        id=[table], k=1, vector=models.QueryTableRequestVector(single_vector=vector)
    )
    return read_ipc_file(rest.query_table(request).data)["id"][0].as_py()


def count(rest, table: str) -> int:
    return rest.count_table_rows(ns.CountTableRowsRequest(id=[table])).count


def count_once_found(rest, table: str) -> int:
    """joust scans a root for unknown names at most once a second."""
    deadline = time.monotonic() + 3
    while True:
        try:
            return count(rest, table)
        except ns.TableNotFoundError:
            assert time.monotonic() < deadline, f"{table} is not found"
            time.sleep(0.1)


def test_tables_of_other_tools_are_served_and_appended_to(root):
    rows = items(200)
    lancedb.connect(root).create_table("from_lancedb", rows)
    lance.write_dataset(rows, f"{root}/from_pylance.lance")

    with JoustServer(root) as server:
        rest = connect(server)
        tables = rest.list_tables(ns.ListTablesRequest(id=[])).tables
        assert sorted(tables) == ["from_lancedb", "from_pylance"]
        for table in tables:
            assert count(rest, table) == 200
            assert nearest(rest, table, vector_of(rows, 17)) == 17
            append = ns.InsertIntoTableRequest(id=[table], mode="append")
            rest.insert_into_table(append, ipc_stream(items(20, start=200)))
            assert count(rest, table) == 220

    assert lancedb.connect(root).open_table("from_lancedb").count_rows() == 220
    assert lance.dataset(f"{root}/from_pylance.lance").count_rows("id >= 200") == 20


def test_tables_written_while_joust_runs_appear(root):
    with JoustServer(root) as server:
        rest = connect(server)
        rows = items(60)
        lancedb.connect(root).create_table("late", rows)
        assert count_once_found(rest, "late") == 60
        # The next request sees a commit of another tool.
        lance.write_dataset(items(5, start=60), f"{root}/late.lance", mode="append")
        assert count(rest, "late") == 65


def test_joust_tables_open_in_other_tools(root):
    rows = items(200)
    with JoustServer(root) as server:
        rest = connect(server)
        rest.create_table(ns.CreateTableRequest(id=["ours"]), ipc_stream(rows))

        dataset = lance.dataset(f"{root}/ours.lance")
        assert dataset.to_table().select(["id", "name"]).equals(rows.select(["id", "name"]))
        table = lancedb.connect(root).open_table("ours")
        assert table.search(vector_of(rows, 33)).limit(1).to_arrow()["id"].to_pylist() == [33]
        table.add(items(10, start=200))
        assert count(rest, "ours") == 210
        table.delete("id < 10")
        assert count(rest, "ours") == 200
