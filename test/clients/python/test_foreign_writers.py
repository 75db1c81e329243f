"""pylance writes a table's files while joust serves and writes the same table: no write is lost."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import lance
from data import items
from lancedb.index import BTree
from rows import ids, values

FOREIGN = Path(__file__).parent / "foreign_writer.py"
ROUNDS = 15


def foreign_writer(path: str, first: int) -> subprocess.Popen:
    command = [sys.executable, FOREIGN, path, str(first), str(ROUNDS)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def outcome(writer: subprocess.Popen) -> tuple[set[int], int]:
    """The ids that a writer has left in the table, and its number of compactions."""
    left: set[int] = set()
    compactions = 0
    for line in writer.stdout:
        done = json.loads(line)
        left |= set(range(*done.get("added", (0, 0))))
        left -= set(range(*done.get("removed", (0, 0))))
        compactions += "compacted" in done
    assert writer.wait() == 0
    return left, compactions


def together(*work) -> None:
    failures = []

    def kept(one):
        try:
            one()
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=kept, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_concurrent_writers_lose_no_rows(server, table, name):
    path = f"{server.root}/{name}.lance"
    table.create_index("id", config=BTree())
    writers = [foreign_writer(path, first) for first in (10_000, 20_000)]

    def insert(first: int):
        for number in range(20):
            table.add(items(5, first + 5 * number))

    def change():
        for _ in range(8):
            table.update(where="id < 5", values_sql={"price": "price + 1"})

    def delete():
        for number in range(5, 10):
            table.delete(f"id = {number}")

    together(lambda: insert(1_000), lambda: insert(2_000), change, delete)
    outcomes = [outcome(writer) for writer in writers]
    assert all(compactions == ROUNDS // 5 for _, compactions in outcomes)

    expected = set(range(5)) | set(range(1_000, 1_100)) | set(range(2_000, 2_100))
    for left, _ in outcomes:
        expected |= left
    assert ids(table) == sorted(expected)
    dataset = lance.dataset(path)
    assert sorted(dataset.to_table(["id"])["id"].to_pylist()) == sorted(expected)
    price = values(table, "price")
    assert [price[n] for n in range(5)] == [n / 2 + 8 for n in range(5)]
    # The index answers for every row of both writers.
    for number in (4, 1_050, 2_099, 10_005, 20_105):
        assert table.count_rows(f"id = {number}") == int(number in expected)


def test_a_foreign_commit_is_seen_by_the_next_request(server, table, name):
    path = f"{server.root}/{name}.lance"
    for number in range(10):
        lance.write_dataset(items(1, 100 + number), path, mode="append")
        assert table.count_rows() == 11 + number
    lance.dataset(path).delete("id >= 100")
    assert table.count_rows() == 10
    lance.dataset(path).optimize.compact_files()
    assert table.count_rows("id < 10") == 10


def test_a_change_after_a_foreign_overwrite_uses_the_new_rows(server, table, name):
    path = f"{server.root}/{name}.lance"
    lance.write_dataset(items(3, 500), path, mode="overwrite")
    table.update(where="id = 500", values={"price": 1.0})
    assert ids(table) == [500, 501, 502]
    table.add(items(2, 600))
    assert ids(table) == [500, 501, 502, 600, 601]
