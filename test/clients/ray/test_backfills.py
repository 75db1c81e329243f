"""Backfills whose functions run on a Ray cluster: the head runs on this host."""

import json
import os
import re
import secrets
import signal
import time
import uuid
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from data import items
from function_columns import FunctionColumns
from joust_server import JoustServer, TemporaryRoot, free_port
from lance.file import LanceFileWriter
from ray_head import FINAL, RayHead
from ray_jobs import (
    call,
    connect,
    keys,
    options,
    progressed,
    ray_job,
    stop,
    stored,
    wait_until,
)

FRAGMENT = 300
FRAGMENTS = 6
INTEGER = {"type": "int64"}
# About 0.6 s for each fragment.
SLOW = """
import time

def double(id):
    time.sleep(0.002)
    return id * 2
"""


@pytest.fixture
def columns(server):
    table = connect(server).create_table("t", items(FRAGMENT))
    for number in range(1, FRAGMENTS):
        table.add(items(FRAGMENT, start=number * FRAGMENT))
    return FunctionColumns(server, "t")


def replacement() -> str:
    """A token as the driver of Ray makes it."""
    return f"joust_{secrets.token_urlsafe(32)}"


def rows(server: JoustServer, column: str) -> dict:
    read = stored(server).to_table(columns=["id", column])
    return dict(zip(read["id"].to_pylist(), read[column].to_pylist(), strict=True))


def check_doubled(server: JoustServer) -> None:
    found = rows(server, "double")
    assert found == {id: id * 2 for id in range(FRAGMENTS * FRAGMENT)}
    dataset = stored(server)
    named = {file.path for one in dataset.get_fragments() for file in one.data_files()}
    # Nothing of the job is left over.
    left = Path(server.root, "t.lance", "_backfills")
    assert not left.exists() or all(one.suffix == ".committing" for one in left.iterdir())
    files = {path.name for path in Path(server.root, "t.lance", "data").iterdir()}
    former = FRAGMENTS
    assert len(files - named) <= former, "files that no version names"


def test_a_column_is_computed_on_ray(head, server, columns):
    def label(id, name):
        import os

        if id == 7:
            raise ValueError("no seven")
        return f"{os.environ['GREETING']} {name}" if id != 8 else None

    columns.declare("label", label, ["id", "name"], {"type": "utf8"})
    job = columns.start("label")
    ended = columns.ended(job)
    assert ended["job_state"] == "DONE", ended
    count = FRAGMENT * FRAGMENTS
    result = ended["result"]
    assert (result["rows_assigned"], result["rows_failed"]) == (count - 2, 1)
    expected = {id: f"hello item {id}" if id not in (7, 8) else None for id in range(count)}
    assert rows(server, "label") == expected
    assert columns.errors("label") == {7: "ValueError: no seven"}
    # Nothing is left of the job but its entry in Ray.
    wait_until(lambda: ray_job(head, job)["status"] in FINAL)
    assert "workers of job" not in keys(server)


def test_a_condition_and_deleted_rows_select_the_rows(server, columns):
    connect(server).open_table("t").delete("id % 100 = 3")
    columns.declare("double", "def double(id):\n    return id * 2", ["id"], INTEGER, entry="double")
    columns.fill("double", where="id >= 500 AND category = 'c1'")
    expected = {
        id: id * 2 if id >= 500 and id % 5 == 1 else None
        for id in range(FRAGMENT * FRAGMENTS)
        if id % 100 != 3
    }
    assert rows(server, "double") == expected


def test_changed_rows_are_computed_by_themselves(head):
    port = free_port()
    arguments = options(head, port, maintenance="on")
    with TemporaryRoot() as root, JoustServer(root, port=port, arguments=arguments) as server:
        table = connect(server).create_table("t", items(100))
        columns = FunctionColumns(server, "t")
        source = "import os\n\ndef seen(price):\n    return f'{price} {os.getpid()}'"
        type = {"type": "utf8"}
        columns.declare("seen", source, ["price"], type, entry="seen", auto_backfill=True)
        before = wait_until(lambda: all(rows(server, "seen").values()) and rows(server, "seen"))
        table.update(where="id = 5", values={"price": 77.5})
        wait_until(lambda: rows(server, "seen")[5].startswith("77.5 "))
        # Another process computed the changed row, and no other one.
        after = rows(server, "seen")
        assert [id for id in after if after[id] != before[id]] == [5]


def test_a_killed_worker_is_replaced(head, server, columns):
    columns.declare("double", SLOW, ["id"], INTEGER, entry="double")
    job = columns.start("double", checkpoint_size=50)
    workers = wait_until(lambda: head.workers("joust: double"))
    os.kill(workers[0], signal.SIGKILL)
    assert columns.ended(job)["job_state"] == "DONE"
    check_doubled(server)


def test_a_killed_server_attaches_to_its_ray_job(head, server, columns):
    columns.declare("double", SLOW, ["id"], INTEGER, entry="double")
    job = columns.start("double", checkpoint_size=50)
    progressed(columns, job, FRAGMENT + 1)
    server.kill()
    time.sleep(1)
    server.__enter__()
    assert columns.ended(job)["job_state"] == "DONE"
    check_doubled(server)
    assert len(head.jobs(job)) == 1


def test_a_fragment_that_its_server_has_lost_is_computed_again(head, server, columns):
    columns.declare("double", SLOW, ["id"], INTEGER, entry="double")
    # A task computes a group of fragments, and has handed over the first one.
    job = columns.start("double", checkpoint_size=50, concurrency=1)
    progressed(columns, job, FRAGMENT + 1)
    server.kill()
    for checkpoint in Path(server.root, "t.lance", "_backfills").glob("*"):
        checkpoint.unlink()
    server.__enter__()
    assert columns.ended(job)["job_state"] == "DONE"
    check_doubled(server)
    assert len(head.jobs(job)) == 1


def test_a_job_that_ray_lost_with_its_server_is_started_again(head, server, columns):
    columns.declare("double", SLOW, ["id"], INTEGER, entry="double")
    job = columns.start("double", checkpoint_size=50)
    progressed(columns, job)
    server.kill()
    submission = ray_job(head, job)["submission_id"]
    stop(head, submission)
    server.__enter__()
    assert columns.ended(job)["job_state"] == "DONE"
    check_doubled(server)
    assert len(head.jobs(job)) == 2


def test_another_server_takes_over_a_job(head, server, columns):
    columns.declare("double", SLOW, ["id"], INTEGER, entry="double")
    job = columns.start("double", checkpoint_size=50)
    progressed(columns, job, FRAGMENT + 1)
    port = free_port()
    other = JoustServer(server.root, port=port, arguments=options(head, port), key=server.key)
    with other:
        server.kill()
        assert FunctionColumns(other, "t").ended(job)["job_state"] == "DONE"
        check_doubled(other)
        # The workers of the dead server stop.
        jobs = wait_until(lambda: all(one["status"] in FINAL for one in head.jobs(job)) and head.jobs(job))
        assert len(jobs) == 2
    server.__enter__()


def test_a_cancelled_job_stops_its_ray_job(head, server, columns):
    columns.declare("double", SLOW, ["id"], INTEGER, entry="double")
    version = stored(server).version
    job = columns.start("double", checkpoint_size=50)
    progressed(columns, job)
    columns.post("/v1/jobs/cancel", {"job_id": job})
    wait_until(lambda: ray_job(head, job)["status"] == "STOPPED")
    wait_until(lambda: not head.workers("joust: double"))
    assert stored(server).version == version
    wait_until(lambda: "workers of job" not in keys(server))


@pytest.mark.parametrize("paused", [False, True])
def test_the_files_of_a_cancelled_job_are_removed(head, server, columns, paused):
    columns.declare("double", SLOW, ["id"], INTEGER, entry="double")
    data = Path(server.root, "t.lance", "data")
    before = set(data.iterdir())
    job = columns.start("double", checkpoint_size=50, concurrency=1)
    checkpoint = Path(server.root, "t.lance", "_backfills", f"{job}.json")
    wait_until(checkpoint.exists)
    if paused:
        columns.post("/v1/jobs/pause", {"job_id": job})
    done = {data / file for file in json.loads(checkpoint.read_text())["files"]}
    assert done and done.isdisjoint(before) and done <= set(data.iterdir())
    columns.post("/v1/jobs/cancel", {"job_id": job})
    wait_until(lambda: not checkpoint.exists())
    wait_until(lambda: ray_job(head, job)["status"] == "STOPPED")
    # Only what a killed worker has not handed over may be left.
    wait_until(lambda: done.isdisjoint(data.iterdir()) and len(set(data.iterdir()) - before) <= 1)


def test_a_paused_job_continues_with_its_fragments(head, server, columns):
    columns.declare("double", SLOW, ["id"], INTEGER, entry="double")
    job = columns.start("double", checkpoint_size=50)
    checkpoint = Path(server.root, "t.lance", "_backfills", f"{job}.json")
    wait_until(checkpoint.exists)
    columns.post("/v1/jobs/pause", {"job_id": job})
    wait_until(lambda: ray_job(head, job)["status"] == "STOPPED")
    done = set(json.loads(checkpoint.read_text())["files"])
    assert done
    columns.post("/v1/jobs/resume", {"job_id": job})
    assert columns.ended(job)["job_state"] == "DONE"
    check_doubled(server)
    named = {f.path for one in stored(server).get_fragments() for f in one.data_files()}
    assert done <= named


def test_the_token_that_ray_shows_is_of_no_use(head, server, columns):
    columns.declare("double", SLOW, ["id"], INTEGER, entry="double")
    job = columns.start("double", checkpoint_size=50)
    token = ray_job(head, job)["runtime_env"]["env_vars"]["JOUST_TOKEN"]
    progressed(columns, job)
    body = {"job_id": job, "token": token}
    assert call(server, "order", {**body, "known": ""})[0] == 401
    status, _ = call(server, "order", {"job_id": job, "token": server.key, "known": ""})
    assert status == 401
    assert columns.ended(job)["job_state"] == "DONE"


def test_workers_of_another_version_are_refused(head, server, columns):
    columns.declare("double", SLOW, ["id"], INTEGER, entry="double")
    job = columns.start("double")
    token = ray_job(head, job)["runtime_env"]["env_vars"]["JOUST_TOKEN"]
    body = {"job_id": job, "token": token}
    # Before the driver of Ray has started.
    status, _ = call(server, "order", {**body, "known": ""})
    assert status == 401
    versions = {"joust_worker": "0.1.0", "lance": "13.0.0"}
    claim = {"versions": versions, "replacement": replacement()}
    status, reply = call(server, "claim", {**body, **claim})
    assert status == 400
    ended = columns.ended(job)
    assert ended["job_state"] == "FAILED"
    expected = r"the Ray cluster has lance 13.0.0.*install pylance==14.0.2 on all nodes"
    assert re.search(expected, ended["failure"]["message"])
    assert re.search(expected, json.dumps(reply))


def test_files_that_do_not_fit_are_refused(head, server, columns):
    """The test is the worker, and the driver of Ray comes too late."""
    columns.declare("double", SLOW, ["id"], INTEGER, entry="double")
    job = columns.start("double")
    token = ray_job(head, job)["runtime_env"]["env_vars"]["JOUST_TOKEN"]
    versions = {"joust_worker": "0.1.0", "lance": lance.__version__}
    body = {"job_id": job, "token": token}
    claim = {"versions": versions, "replacement": replacement()}
    assert call(server, "claim", {**body, **claim})[0] == 200
    # The first token is good for one claim.
    assert call(server, "claim", {**body, **claim})[0] == 401
    body["token"] = claim["replacement"]
    _, answer = call(server, "order", {**body, "known": ""})
    order = answer["order"]
    dataset = lance.dataset(order["location"], version=order["version"])
    data = Path(order["location"], "data")
    count = {"assigned": FRAGMENT, "failed": 0, "changed": FRAGMENT, "failures": []}

    def report(task: dict, column: pa.Array, name: str = "double", key: str = "", **members) -> tuple:
        file = f"{uuid.uuid4().hex}.lance"
        schema = pa.schema([pa.field(name, column.type)])
        version = dataset.data_storage_version
        with LanceFileWriter(str(data / file), schema, version=version) as writer:
            writer.write_batch(pa.record_batch([column], schema))
        result = {"file": file, "tally": count, **members}
        part = {"key": key or task["key"], "result": result}
        status, reply = call(server, "report", {**body, "part": part})
        return status, json.dumps(reply)

    first, *_ = order["tasks"]
    ids = range(FRAGMENT)
    right = pa.array([id * 2 for id in ids], pa.int64())
    for column, members, message in [
        (right.slice(1), {}, "another number of rows"),
        (pa.array(ids, pa.int32()), {}, "another column"),
        (right, {"name": "id"}, "another column"),
        (right, {"tally": {**count, "changed": FRAGMENT + 1}}, "counts that do not fit"),
    ]:
        status, reply = report(first, column, **members)
        assert status == 400, reply
        assert message in reply
    assert '"wanted": false' in report(first, right, key="0" * 16)[1]
    for task in order["tasks"]:
        read = dataset.get_fragment(task["fragment"]).to_table(columns=["id"])["id"]
        column = pa.array([id * 2 for id in read.to_pylist()], pa.int64())
        assert '"wanted": true' in report(task, column)[1]
    assert columns.ended(job)["job_state"] == "DONE"
    assert rows(server, "double") == {id: id * 2 for id in range(FRAGMENTS * FRAGMENT)}


def test_a_function_that_cannot_be_loaded_fails_the_job(columns):
    source = "import no_such_package\n\ndef double(id):\n    return id"
    columns.declare("double", source, ["id"], INTEGER, entry="double")
    assert "the Python package no_such_package is missing" in columns.failure("double")


def test_without_a_valid_token_the_job_fails(head):
    port = free_port()
    arguments = options(head, port)
    at = arguments.index("--ray-token-file")
    del arguments[at : at + 2]
    with TemporaryRoot() as root, JoustServer(root, port=port, arguments=arguments) as server:
        connect(server).create_table("t", items(10))
        columns = FunctionColumns(server, "t")
        columns.declare("double", SLOW, ["id"], INTEGER, entry="double")
        assert "(401): set --ray-token-file" in columns.failure("double")


def test_a_dead_head_fails_the_job():
    """The last test: it needs a head of its own."""
    with RayHead() as head:
        port = free_port()
        with (
            TemporaryRoot() as root,
            JoustServer(root, port=port, arguments=options(head, port)) as server,
        ):
            connect(server).create_table("t", items(3_000))
            columns = FunctionColumns(server, "t")
            columns.declare("double", SLOW, ["id"], INTEGER, entry="double")
            job = columns.start("double", checkpoint_size=50)
            progressed(columns, job)
            head.kill()
            ended = columns.ended(job)
            assert ended["job_state"] == "FAILED"
            assert "check that the Ray head runs" in ended["failure"]["message"]
            head.start()
            assert columns.fill("double")["rows_assigned"] == 3_000
