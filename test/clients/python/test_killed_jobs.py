"""Kills the server, or the process of a function, in the middle of each kind of job.

`npm run test:compute -- RUNS` makes many runs. A run is determined by its seed, except for how far the job has come.
"""

import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from chunker_view import ChunkerView
from data import items
from function_columns import FunctionColumns
from joust_server import JoustServer, TemporaryRoot

import lancedb

KINDS = ["backfill", "view", "groups", "chunks", "vector", "scalar", "text", "compaction"]
RUNS = int(os.environ.get("JOUST_TEST_COMPUTE_RUNS", len(KINDS)))
SEED = int(os.environ.get("JOUST_TEST_SEED", time.time_ns() % 2**31))
FRAGMENT = 300
DOUBLE = """
import time

def double(id):
    time.sleep(0.001)
    return id * 2
"""
WORDS = """
import time

def words(text):
    time.sleep(0.001)
    return text.split()
"""
INDEXES = {
    "vector": {"column": "vector", "index_type": "IVF_PQ", "num_sub_vectors": 4},
    "scalar": {"column": "price", "index_type": "BTREE"},
    "text": {"column": "name", "index_type": "FTS"},
}


class Run:
    """A table of four fragments, a view of its rows, one of its groups and one of the words of a column."""

    def __init__(self, server: JoustServer, chance: random.Random) -> None:
        self.server, self.chance = server, chance
        self.columns = FunctionColumns(server, "t")
        for fragment in range(4):
            rows = items(FRAGMENT, start=fragment * FRAGMENT)
            database = self.database()
            if fragment == 0:
                database.create_table("t", rows)
            else:
                database.open_table("t").add(rows)
        self.columns.declare("double", DOUBLE, ["id"], {"type": "int64"}, entry="double")
        self.create_view("w", "SELECT id, upper(name) AS name FROM t WHERE id % 7 <> 3")
        self.create_view("g", "SELECT category, count(*) AS c, sum(id) AS s FROM t GROUP BY category")
        self.words = ChunkerView(self.columns, "words")
        output = {"column": "word", "data_type": "utf8"}
        query = "SELECT id, name AS text FROM t"
        self.words.create(query, WORDS, inherited_columns=["id"], outputs=[output])

    def database(self):
        server = self.server
        return lancedb.connect("db://joust", api_key=server.key, host_override=server.url)

    def create_view(self, name: str, query: str) -> None:
        created = self.columns.post(f"/v1/materialized_view/{name}/create", {"query": query})
        self.done(created["job_id"])

    def done(self, job: str) -> dict:
        ended = self.columns.ended(job)
        assert ended["job_state"] == "DONE", ended.get("failure", ended)
        return ended["result"]

    def change(self) -> None:
        """Rows that the next refresh has to see."""
        table = self.database().open_table("t")
        first = 4 * FRAGMENT
        table.add(items(self.chance.randrange(1, 200), start=first))
        table.delete(f"id % 50 = {self.chance.randrange(50)}")
        table.update(where=f"id % 40 = {self.chance.randrange(40)}", values={"name": "changed"})

    def start(self, kind: str) -> str:
        """The id of the job."""
        if kind == "backfill":
            return self.columns.start("double", min_checkpoint_size=8, concurrency=2)
        if kind in ("view", "groups"):
            self.change()
            view = {"view": "w", "groups": "g"}[kind]
            return self.columns.post(f"/v1/materialized_view/{view}/refresh", {})["job_id"]
        if kind == "chunks":
            if self.chance.random() < 0.5:
                self.words.refresh()
            self.change()
            return self.words.start(concurrency=2, source_task_size=8)
        if kind == "compaction":
            return self.columns.post("/v1/table/t/compact", {})["job_id"]
        created = self.columns.post("/v1/table/t/create_index", INDEXES[kind])
        return created["transaction_id"]

    def rows(self, table: str) -> list[dict]:
        opened = self.database().open_table(table)
        return opened.search().limit(10_000).to_list()

    def check(self, kind: str, ids: list[int]) -> None:
        rows = self.rows("t")
        assert sorted(row["id"] for row in rows) == ids
        if kind == "backfill":
            assert all(row["double"] == row["id"] * 2 for row in rows)
        if kind == "view":
            expected = [(row["id"], row["name"].upper()) for row in rows if row["id"] % 7 != 3]
            found = [(row["id"], row["name"]) for row in self.rows("w")]
            assert sorted(found) == sorted(expected)
        if kind == "groups":
            counts = Counter(row["category"] for row in rows)
            sums = Counter()
            for row in rows:
                sums[row["category"]] += row["id"]
            found = [(row["category"], row["c"], row["s"]) for row in self.rows("g")]
            assert sorted(found) == sorted((name, counts[name], sums[name]) for name in counts)
        if kind == "chunks":
            expected = [(row["id"], word) for row in rows for word in row["name"].split()]
            found = [(row["id"], row["word"]) for row in self.rows("words")]
            assert sorted(found) == sorted(expected)
        if kind in INDEXES:
            listed = self.columns.post("/v1/table/t/index/list", {})["indexes"]
            assert [index["columns"] for index in listed] == [[INDEXES[kind]["column"]]]
            self.check_search(kind, rows)
        # Nothing of the job is left over.
        for table in ("t", "words"):
            left = Path(self.server.root, f"{table}.lance", "_backfills")
            if left.exists():
                assert all(one.suffix == ".committing" for one in left.iterdir())

    def check_search(self, kind: str, rows: list[dict]) -> None:
        table = self.database().open_table("t")
        row = self.chance.choice(rows)
        if kind == "vector":
            near = table.search(row["vector"]).refine_factor(20).limit(3).to_list()
            assert row["id"] in [found["id"] for found in near]
        elif kind == "scalar":
            found = table.search().where(f"price = {row['price']}").to_list()
            assert [found["id"] for found in found] == [row["id"]]
        else:
            found = table.search(str(row["id"]), query_type="fts").limit(3).to_list()
            assert [found["id"] for found in found] == [row["id"]]


def function_processes(server: JoustServer) -> list[int]:
    """The processes that the server runs functions in."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
            command = path.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == server.pid and b"python" in command:
            found.append(int(path.parent.name))
    return found


@pytest.mark.parametrize("number", range(RUNS))
def test_a_killed_job_loses_and_doubles_nothing(number):
    seed = SEED + number
    chance = random.Random(seed)
    kind = KINDS[number % len(KINDS)]
    print(f"seed {seed}: {kind}")
    options = ["--functions", "subprocess", "--python", sys.executable, "--maintenance", "off"]
    with TemporaryRoot() as root, JoustServer(root, arguments=options) as server:
        run = Run(server, chance)
        job = run.start(kind)
        ids = sorted(row["id"] for row in run.rows("t"))
        # A job whose server stops three times fails.
        kills = chance.randrange(1, 3)
        for _ in range(kills):
            runs_function = kind in ("backfill", "chunks")
            time.sleep(chance.random() * (1 if runs_function else 0.1))
            processes = function_processes(server)
            if runs_function and processes and chance.random() < 0.5:
                os.kill(chance.choice(processes), signal.SIGKILL)
            else:
                server.kill()
                server.__enter__()
        run.done(job)
        run.check(kind, ids)
