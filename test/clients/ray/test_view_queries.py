"""Views whose queries one task computes as a whole on a Ray cluster: the head runs on this host."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from data import items
from function_columns import FunctionColumns
from joust_server import JoustServer, TemporaryRoot, free_port
from joust_worker.server import Refused
from joust_worker.spill_directory import SpillDirectory
from joust_worker.sql import module
from ray_head import FINAL, RayHead
from ray_jobs import connect, options, ray_job, stored, wait_until

TITLE = "joust: view query"
FRAGMENT = 300
GROUPS = (
    "SELECT category, count(*) AS c, sum(id) AS s, min(price) AS lo, max(name) AS hi "
    "FROM t GROUP BY category"
)
# Some seconds.
SLOW = "SELECT count(*) AS c FROM t AS a, t AS b, t AS c WHERE a.id + b.id + c.id > 7"


def fill(server: JoustServer) -> FunctionColumns:
    table = connect(server).create_table("t", items(FRAGMENT))
    table.add(items(FRAGMENT, start=FRAGMENT))
    table.delete("id % 100 = 7")
    connect(server).create_table("Other.names", items(40, start=20))
    return FunctionColumns(server, "t")


@pytest.fixture
def columns(server):
    return fill(server)


def start(columns: FunctionColumns, view: str, **options) -> str:
    return columns.post(f"/v1/materialized_view/{view}/refresh", options)["job_id"]


def create(columns: FunctionColumns, view: str, query: str) -> None:
    columns.post(f"/v1/materialized_view/{view}/create", {"query": query, "with_no_data": True})


def done(columns: FunctionColumns, job: str) -> dict:
    ended = columns.ended(job)
    assert ended["job_state"] == "DONE", ended
    return ended["result"]


def rows(server: JoustServer, view: str) -> list[str]:
    return sorted(str(row) for row in stored(server, view).to_table().to_pylist())


QUERIES = {
    "groups": GROUPS,
    "averages": "SELECT id % 7 AS rest, avg(price) AS a, count(DISTINCT name) AS n FROM t "
    "GROUP BY id % 7 HAVING count(*) > 1",
    "total": "SELECT count(*) AS c, sum(CAST(id AS INT) + 1) AS s FROM t WHERE price >= 0.0",
    "joined": 'SELECT t.id, o.name, o.vector FROM t JOIN `Other.names` AS o ON t.id = o.id WHERE o.price > 15',
    "first": "SELECT id, name FROM t ORDER BY price DESC LIMIT 5",
    "distinct": "SELECT DISTINCT category, id % 3 AS rest FROM t",
    "windows": "SELECT id, row_number() OVER (PARTITION BY category ORDER BY id) AS n FROM t",
    "either": "SELECT id FROM t WHERE id IN (SELECT id + 1 FROM `Other.names`) UNION SELECT 9",
    "nothing": "SELECT category, count(*) AS c FROM t WHERE id < 0 GROUP BY category",
}


def test_whole_queries_have_the_rows_of_a_local_refresh(head, server, columns):
    jobs, results = {}, {}
    for view, query in QUERIES.items():
        create(columns, view, query)
        jobs[view] = start(columns, view)
        results[view] = done(columns, jobs[view])
    with TemporaryRoot() as root, JoustServer(root) as local:
        own = fill(local)
        for view, query in QUERIES.items():
            create(own, view, query)
            result = done(own, start(own, view))
            assert rows(server, view) == rows(local, view), view
            for member in ("mode", "rows_written", "reason"):
                assert results[view][member] == result[member], view
            assert len(head.jobs(jobs[view])) == 1, view


def test_files_have_the_rows_in_their_order(server, columns):
    create(columns, "ordered", "SELECT id, name FROM t ORDER BY id DESC")
    done(columns, start(columns, "ordered", max_rows_per_fragment=100))
    dataset = stored(server, "ordered")
    ids = dataset.to_table(columns=["id"])["id"].to_pylist()
    assert ids == sorted(ids, reverse=True)
    assert max(one.count_rows() for one in dataset.get_fragments()) == 100


def test_the_groups_of_a_worker_are_refreshed_incrementally_in_the_server(head, server, columns):
    create(columns, "groups", GROUPS)
    job = start(columns, "groups")
    assert done(columns, job)["mode"] == "rebuild"
    assert len(head.jobs(job)) == 1
    table = connect(server).open_table("t")
    table.add(items(1, start=1_000))
    table.delete("id = 3")
    job = start(columns, "groups")
    result = done(columns, job)
    assert (result["mode"], result["rows_written"], result["rows_removed"]) == ("incremental", 2, 2)
    assert head.jobs(job) == []
    create(columns, "twin", GROUPS)
    done(columns, start(columns, "twin"))
    assert rows(server, "groups") == rows(server, "twin")


def test_a_view_has_tables_of_a_namespace(head, server, columns):
    columns.post("/v1/namespace/ns/create", {})
    connect(server).create_table("u", items(10), namespace_path=["ns"])
    create(columns, "v", "SELECT t.id, count(*) AS c FROM t JOIN ns.u ON t.id > ns.u.id GROUP BY t.id")
    job = start(columns, "v")
    done(columns, job)
    assert len(head.jobs(job)) == 1
    assert sum(row["c"] for row in stored(server, "v").to_table().to_pylist()) > 0


def test_a_query_with_a_function_of_the_server_runs_there(head, server, columns):
    query = "SELECT count(*) AS c FROM t WHERE contains_tokens(name, '5')"
    create(columns, "v", query)
    job = start(columns, "v")
    done(columns, job)
    assert head.jobs(job) == []


def test_a_failing_query_fails_the_job(server, columns):
    create(columns, "v", "SELECT category, sum(1 / (id - 5)) AS s FROM t GROUP BY category")
    ended = columns.ended(start(columns, "v"))
    assert ended["job_state"] == "FAILED"
    assert "Divide by zero" in ended["failure"]["message"]
    assert rows(server, "v") == []


def test_a_killed_worker_is_replaced(head, server, columns):
    create(columns, "slow", SLOW)
    job = start(columns, "slow")
    workers = wait_until(lambda: head.workers(TITLE))
    time.sleep(0.5)
    os.kill(workers[0], signal.SIGKILL)
    assert done(columns, job)["rows_written"] == 1
    [row] = stored(server, "slow").to_table().to_pylist()
    assert row["c"] == 594**3 - 117


def test_a_killed_server_attaches_to_its_ray_job(head, server, columns):
    create(columns, "slow", SLOW)
    job = start(columns, "slow")
    wait_until(lambda: head.workers(TITLE))
    server.kill()
    time.sleep(1)
    server.__enter__()
    assert done(columns, job)["rows_written"] == 1
    assert len(head.jobs(job)) == 1


def test_a_cancelled_refresh_leaves_the_view_as_it_is(head, server, columns):
    create(columns, "slow", SLOW)
    job = start(columns, "slow")
    wait_until(lambda: head.workers(TITLE))
    columns.post("/v1/jobs/cancel", {"job_id": job})
    assert columns.ended(job)["job_state"] == "CANCELLED"
    assert rows(server, "slow") == []
    wait_until(lambda: ray_job(head, job)["status"] in FINAL)
    wait_until(lambda: not head.workers(TITLE))


def test_a_node_with_another_datafusion_fails_the_job(tmp_path):
    package = Path(tmp_path, "datafusion")
    package.mkdir()
    Path(package, "__init__.py").write_text('__version__ = "53.0.0"\n')
    Path(package, "catalog.py").touch()
    port = free_port()
    with RayHead(modules=str(tmp_path)) as head, TemporaryRoot() as root:
        with JoustServer(root, port=port, arguments=options(head, port)) as server:
            columns = fill(server)
            # What Lance can read needs no DataFusion.
            create(columns, "plain", "SELECT id, upper(name) AS name FROM t")
            done(columns, start(columns, "plain"))
            for view, query in (
                ("groups", GROUPS),
                ("cases", "SELECT CASE WHEN id > 3 THEN 1 END AS one FROM t"),
            ):
                create(columns, view, query)
                ended = columns.ended(start(columns, view))
                assert ended["job_state"] == "FAILED"
                message = ended["failure"]["message"]
                assert "a Ray node has datafusion 53.0.0" in message
                assert 'install "datafusion==54.1.*" on all nodes' in message


def test_a_node_without_datafusion_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "datafusion", None)
    with pytest.raises(Refused, match='no package datafusion.*install "datafusion==54'):
        module("54.1.0")


def test_what_a_killed_worker_spilled_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    living = SpillDirectory()
    program = f"""
import os, signal, sys, tempfile
sys.path[:0] = {sys.path!r}
tempfile.tempdir = {str(tmp_path)!r}
from joust_worker.spill_directory import SpillDirectory
spilled = SpillDirectory()
open(os.path.join(spilled.path, "spilled"), "w").close()
os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = subprocess.run([sys.executable, "-c", program])
    assert killed.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob("*/spilled"))) == 1
    own = SpillDirectory()
    assert {str(path) for path in tmp_path.iterdir()} == {living.path, own.path}
    for directory in (living, own):
        directory.remove()
    assert list(tmp_path.iterdir()) == []
