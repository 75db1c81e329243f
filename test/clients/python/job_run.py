"""Jobs of each kind on a small table, and what they leave."""

import random
from collections import Counter
from pathlib import Path

from chunker_view import ChunkerView
from data import items
from function_columns import FunctionColumns
from joust_server import JoustServer

import lancedb

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
VIEWS = ("view", "groups", "numbers", "chunks")
INDEXES = {
    "vector": {"column": "vector", "index_type": "IVF_PQ", "num_sub_vectors": 4},
    "scalar": {"column": "price", "index_type": "BTREE"},
    "text": {"column": "name", "index_type": "FTS"},
    "inverted": {"column": "name", "index_type": "INVERTED"},
}


class Run:
    """A table of four fragments. With views: of its rows, its groups, numbers of its rows and the words of a column."""

    def __init__(self, server: JoustServer, chance: random.Random, has_views: bool = True) -> None:
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
        if not has_views:
            return
        self.create_view("w", "SELECT id, upper(name) AS name FROM t WHERE id % 7 <> 3")
        self.create_view("g", "SELECT category, count(*) AS c, sum(id) AS s FROM t GROUP BY category")
        # Each refresh computes all rows.
        self.create_view("n", "SELECT id, row_number() OVER (ORDER BY id) AS number FROM t")
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
        if kind in VIEWS:
            if kind == "chunks" and self.chance.random() < 0.5:
                self.words.refresh()
            self.change()
        return self.start_again(kind)

    def start_again(self, kind: str) -> str:
        """The same without further changes of the table, after a job that has failed."""
        if kind == "backfill":
            return self.columns.start("double", min_checkpoint_size=8, concurrency=2)
        if kind == "chunks":
            return self.words.start(concurrency=2, source_task_size=8)
        if kind in VIEWS:
            view = {"view": "w", "groups": "g", "numbers": "n"}[kind]
            return self.columns.post(f"/v1/materialized_view/{view}/refresh", {})["job_id"]
        if kind == "compaction":
            return self.columns.post("/v1/table/t/compact", {})["job_id"]
        created = self.columns.post("/v1/table/t/create_index", INDEXES[kind])
        return created["transaction_id"]

    def rows(self, table: str) -> list[dict]:
        opened = self.database().open_table(table)
        return opened.search().limit(10_000).to_list()

    def check_table(self, ids: list[int]) -> list[dict]:
        """The rows, which no job may change."""
        rows = self.rows("t")
        assert sorted(row["id"] for row in rows) == ids
        return rows

    def check(self, kind: str, ids: list[int]) -> None:
        rows = self.check_table(ids)
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
        if kind == "numbers":
            found = [(row["number"], row["id"]) for row in self.rows("n")]
            assert sorted(found) == list(enumerate(sorted(ids), start=1))
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
