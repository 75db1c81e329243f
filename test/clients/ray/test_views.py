"""Views whose rows are computed on a Ray cluster: the head runs on this host."""

import os
import signal
import time
from pathlib import Path

import pytest
from chunker_view import ChunkerView
from data import items
from function_columns import FunctionColumns
from joust_server import JoustServer, TemporaryRoot, free_port
from ray_head import FINAL
from ray_jobs import connect, keys, options, progressed, ray_job, stored, wait_until

FRAGMENT = 300
FRAGMENTS = 4
ROWS = FRAGMENT * FRAGMENTS
TITLE = "joust: view refresh"
PARTS = [{"column": "part", "data_type": "utf8"}, {"column": "size", "data_type": "int64"}]
QUERY = "SELECT id, name AS text FROM t WHERE id % 10 <> 3"
SPLIT = """
def words(text):
    for part in text.split():
        yield {"part": part, "size": len(part)}
"""
# About 0.5 s for each fragment.
SLOW = """
import time

def words(text):
    time.sleep(0.002)
    for part in text.split():
        yield {"part": part, "size": len(part)}
"""


@pytest.fixture
def columns(server):
    table = connect(server).create_table("t", items(FRAGMENT))
    for number in range(1, FRAGMENTS):
        table.add(items(FRAGMENT, start=number * FRAGMENT))
    table.delete("id % 100 = 7")
    return FunctionColumns(server, "t")


@pytest.fixture
def view(columns):
    return ChunkerView(columns, "parts")


def create(view: ChunkerView, function: str = SPLIT, query: str = QUERY) -> None:
    view.create(query, function, inherited_columns=["id"], outputs=PARTS)


def read(server: JoustServer, table: str, names: list[str]) -> list[tuple]:
    rows = stored(server, table).to_table(columns=names).to_pylist()
    return sorted(tuple(row[name] for name in names) for row in rows)


def expected(server: JoustServer) -> list[tuple]:
    """What a view with `QUERY` has."""
    rows = stored(server).to_table(columns=["id", "name"], with_row_id=True).to_pylist()
    return sorted(
        (row["id"], part, len(part), row["_rowid"], position)
        for row in rows
        if row["id"] % 10 != 3
        for position, part in enumerate(row["name"].split())
    )


def parts(server: JoustServer) -> list[tuple]:
    return read(server, "parts", ["id", "part", "size", "__source_row_id", "__child_index"])


def check_files(server: JoustServer, table: str) -> None:
    """Each file is one of the newest version or of one before."""
    dataset = stored(server, table)
    named = set()
    for version in dataset.versions():
        fragments = dataset.checkout_version(version["version"]).get_fragments()
        named |= {file.path for one in fragments for file in one.data_files()}
    data = Path(server.root, f"{table}.lance", "data")
    wait_until(lambda: not data.exists() or {path.name for path in data.iterdir()} <= named)


def test_the_function_of_a_view_runs_on_ray(head, server, view):
    create(view)
    job = view.start(source_task_size=50)
    result = view.columns.ended(job)
    assert result["job_state"] == "DONE", result
    assert parts(server) == expected(server)
    assert result["result"]["rows_written"] == len(parts(server))
    check_files(server, "parts")
    # Nothing is left of the job but its entry in Ray.
    wait_until(lambda: ray_job(head, job)["status"] in FINAL)
    assert "workers of job" not in keys(server)


def test_changed_rows_are_computed_by_themselves(head, server, view):
    # The process shows which rows are new.
    source = "import os\n\ndef words(text):\n    yield {'part': f'{text} {os.getpid()}', 'size': 1}"
    create(view, source)
    view.refresh()
    before = dict(read(server, "parts", ["id", "part"]))
    table = connect(server).open_table("t")
    table.update(where="id = 5", values={"name": "changed"})
    table.delete("id = 6")
    table.add(items(1, start=ROWS))
    job = view.start()
    result = view.columns.ended(job)["result"]
    assert (result["mode"], result["rows_written"], result["rows_removed"]) == ("incremental", 2, 2)
    assert len(head.jobs(job)) == 1
    after = dict(read(server, "parts", ["id", "part"]))
    assert after[5].startswith("changed ")
    assert {id for id in before | after if before.get(id) != after.get(id)} == {5, 6, ROWS}


def test_rows_for_which_the_function_fails_are_reported(server, view):
    source = "def words(text):\n    if text.endswith(' 8'):\n        raise ValueError('no eight')\n    return [{'part': text, 'size': 1}]"
    create(view, source, "SELECT id, name AS text FROM t WHERE id < 12")
    ended = view.ended()
    assert ended["job_state"] == "DONE", ended
    assert ended["result"]["rows_failed"] == 1
    assert [id for (id,) in read(server, "parts", ["id"])] == [0, 1, 2, 3, 4, 5, 6, 9, 10, 11]
    [record] = view.errors()["records"]
    assert "no eight" in str(record)


def test_a_view_has_only_as_many_rows_as_the_request_allows(server, view):
    create(view)
    result = view.refresh(output_limit=350)
    assert result["rows_written"] == 350
    assert len(parts(server)) == 350
    assert set(parts(server)) <= set(expected(server))
    # The next refresh computes all.
    view.refresh()
    assert parts(server) == expected(server)


# Expressions that Lance reads in another way or does not have, and their values.
ELSEWHERE = [
    (
        "SELECT id, CASE WHEN id % 2 = 1 THEN 'odd one' ELSE name END AS text FROM t",
        lambda row: "odd one" if row["id"] % 2 == 1 else row["name"],
    ),
    (
        "SELECT id, name || CAST(CAST(id AS INT) + 1 AS VARCHAR) AS text FROM t WHERE id > 5",
        lambda row: f"{row['name']}{row['id'] + 1}" if row["id"] > 5 else None,
    ),
    (
        "SELECT id, name AS text FROM t WHERE CASE WHEN id < 9 THEN name LIKE '%3' ELSE id % 3 = 1 END",
        lambda row: row["name"]
        if (row["name"].endswith("3") if row["id"] < 9 else row["id"] % 3 == 1)
        else None,
    ),
    (
        "SELECT id, CAST(price > 100.0 AS VARCHAR) || ' ' || name AS text FROM t WHERE price >= 1.0",
        lambda row: f"{str(row['price'] > 100).lower()} {row['name']}" if row["price"] >= 1 else None,
    ),
]


@pytest.mark.parametrize(("query", "text"), ELSEWHERE)
def test_a_function_gets_what_lance_cannot_compute(head, server, view, query, text):
    create(view, query=query)
    job = view.start()
    ended = view.columns.ended(job)
    assert ended["job_state"] == "DONE", ended
    assert len(head.jobs(job)) == 1
    rows = stored(server).to_table(columns=["id", "name", "price"], with_row_id=True).to_pylist()
    texts = [(row, text(row)) for row in rows]
    assert parts(server) == sorted(
        (row["id"], part, len(part), row["_rowid"], position)
        for row, text in texts
        if text is not None
        for position, part in enumerate(text.split())
    )


def test_a_query_that_only_the_server_can_run_fails_the_job(server, view):
    query = "SELECT id, CASE WHEN contains_tokens(name, '1') THEN 'one' ELSE name END AS text FROM t"
    create(view, query=query)
    ended = view.ended()
    assert ended["job_state"] == "FAILED"
    message = ended["failure"]["message"]
    assert "the workers on Ray cannot compute" in message
    assert "--functions subprocess" in message


def test_a_killed_worker_is_replaced(head, server, view):
    create(view, SLOW)
    job = view.start(source_task_size=50)
    workers = wait_until(lambda: head.workers(TITLE))
    os.kill(workers[0], signal.SIGKILL)
    assert view.columns.ended(job)["job_state"] == "DONE"
    assert parts(server) == expected(server)


def test_a_killed_server_attaches_to_its_ray_job(head, server, view):
    create(view, SLOW)
    job = view.start(source_task_size=50)
    progressed(view.columns, job, FRAGMENT + 1)
    server.kill()
    time.sleep(1)
    server.__enter__()
    assert view.columns.ended(job)["job_state"] == "DONE"
    assert parts(server) == expected(server)
    assert len(head.jobs(job)) == 1


def test_a_cancelled_refresh_leaves_the_view_as_it_is(head, server, view):
    create(view, SLOW)
    job = view.start(source_task_size=50)
    progressed(view.columns, job, FRAGMENT + 1)
    view.columns.post("/v1/jobs/cancel", {"job_id": job})
    assert view.columns.ended(job)["job_state"] == "CANCELLED"
    assert parts(server) == []
    wait_until(lambda: ray_job(head, job)["status"] in FINAL)
    wait_until(lambda: not head.workers(TITLE))


PLAIN = "SELECT id, upper(name) AS name, price * 2 AS price, vector FROM t WHERE id % 7 <> 3"


def plain_rows(server: JoustServer) -> list[tuple]:
    rows = stored(server).to_table(columns=["id", "name", "price", "vector"]).to_pylist()
    return sorted(
        (row["id"], row["name"].upper(), row["price"] * 2, row["vector"])
        for row in rows
        if row["id"] % 7 != 3
    )


def test_the_rows_of_a_query_are_computed_on_ray(head, server, columns):
    def refreshed(**options) -> dict:
        job = columns.post("/v1/materialized_view/plain/refresh", options)["job_id"]
        ended = columns.ended(job)
        assert ended["job_state"] == "DONE", ended
        assert len(head.jobs(job)) == 1
        return ended["result"]

    names = ["id", "name", "price", "vector"]
    columns.post("/v1/materialized_view/plain/create", {"query": PLAIN, "with_no_data": True})
    assert refreshed(max_rows_per_fragment=100)["mode"] == "rebuild"
    assert read(server, "plain", names) == plain_rows(server)
    fragments = stored(server, "plain").get_fragments()
    assert max(one.count_rows() for one in fragments) <= 100
    connect(server).open_table("plain").create_scalar_index("id")
    table = connect(server).open_table("t")
    table.update(where="id % 50 = 1", values={"name": "changed"})
    table.delete("id % 50 = 2")
    table.add(items(20, start=ROWS))
    assert refreshed()["mode"] == "incremental"
    assert read(server, "plain", names) == plain_rows(server)
    found = connect(server).open_table("plain").search().where("id = 51").to_list()
    assert [row["name"] for row in found] == ["CHANGED"]
    # A view of the view.
    second = {"query": "SELECT id, name FROM plain WHERE id < 40", "with_no_data": True}
    columns.post("/v1/materialized_view/second/create", second)
    columns.ended(columns.post("/v1/materialized_view/second/refresh", {})["job_id"])
    found = [(row[0], row[1]) for row in plain_rows(server) if row[0] < 40]
    assert read(server, "second", ["id", "name"]) == found
    check_files(server, "plain")


IDS = [id for id in range(ROWS) if id % 100 != 7]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # An expression that fails for a row which the condition excludes.
        (
            "SELECT 1200 / id AS q FROM t WHERE id <> 0 AND id < 50",
            [(1_200 // id,) for id in IDS if 0 < id < 50],
        ),
        ("SELECT 1 AS one FROM t WHERE id >= 1190", [(1,) for id in IDS if id >= 1_190]),
        # The names have changed their places.
        (
            "SELECT price AS id, id AS price FROM t WHERE price > 590",
            [(id / 2, id) for id in IDS if id > 1_180],
        ),
        # Many conditions, which the text must not nest.
        (
            "SELECT id FROM t WHERE " + " AND ".join(f"name NOT LIKE '%m {n}'" for n in range(60)),
            [(id,) for id in IDS if id >= 60],
        ),
    ],
)
def test_queries_with_expressions_give_their_rows(head, server, columns, query, expected):
    columns.post("/v1/materialized_view/v/create", {"query": query, "with_no_data": True})
    job = columns.post("/v1/materialized_view/v/refresh", {})["job_id"]
    ended = columns.ended(job)
    assert ended["job_state"] == "DONE", ended
    assert len(head.jobs(job)) == 1
    names = stored(server, "v").schema.names
    assert read(server, "v", names) == sorted(expected)


def test_a_view_with_a_function_refreshes_itself(head):
    port = free_port()
    arguments = options(head, port, maintenance="on")
    with TemporaryRoot() as root, JoustServer(root, port=port, arguments=arguments) as server:
        table = connect(server).create_table("t", items(10))
        view = ChunkerView(FunctionColumns(server, "t"), "parts")
        members = {"inherited_columns": ["id"], "outputs": PARTS, "auto_refresh": True}
        view.create(QUERY, SPLIT, **members)
        wait_until(lambda: parts(server) == expected(server))
        table.add(items(1, start=10))
        wait_until(lambda: (10, "item", 4, 10, 0) in parts(server))
