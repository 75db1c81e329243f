"""Compactions on a Ray cluster: the head runs on this host."""

import os
import signal
import time
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from data import items
from function_columns import FunctionColumns
from joust_server import JoustServer, TemporaryRoot, free_port
from ray_head import FINAL, RayHead
from ray_jobs import connect, keys, options, ray_job, stored, wait_until

FRAGMENT = 5_000
FRAGMENTS = 16
TITLE = "joust: compaction"
# Groups of two fragments, one after the other.
GROUPS = {"target_rows_per_fragment": 2 * FRAGMENT, "concurrency": 1}


class Compactions(FunctionColumns):
    def compact(self, **body) -> str:
        return self.post(f"/v1/table/{self.table}/compact", body)["job_id"]

    def compacted(self, **body) -> dict:
        return self.done(self.compact(**body))

    def done(self, job: str) -> dict:
        ended = self.ended(job)
        assert ended["job_state"] == "DONE", ended
        return ended["result"]


def create(server: JoustServer, name: str = "t") -> Compactions:
    """Some fragments. Rows of some of them are deleted or changed."""
    table = connect(server).create_table(name, items(FRAGMENT))
    for number in range(1, FRAGMENTS):
        table.add(items(FRAGMENT, start=number * FRAGMENT))
    table.delete("id % 7 = 3 AND id < 20000")
    table.update(where="id = 12345", values={"name": "changed"})
    return Compactions(server, name)


@pytest.fixture
def table(server):
    return create(server)


def rows(dataset: lance.LanceDataset) -> pa.Table:
    """All that a compaction must keep."""
    versions = ["_row_created_at_version", "_row_last_updated_at_version"]
    names = [*dataset.schema.names, *versions]
    return dataset.to_table(columns=names, with_row_id=True).sort_by("id")


def files(server: JoustServer, table: str = "t") -> set[str]:
    return {path.name for path in Path(server.root, f"{table}.lance", "data").iterdir()}


def fragments(dataset: lance.LanceDataset) -> list[int]:
    return [one.count_rows() for one in dataset.get_fragments()]


def worker(head: RayHead) -> int:
    """A process that rewrites a group. It stops until `go_on`."""
    found = wait_until(lambda: head.workers(TITLE))[0]
    os.kill(found, signal.SIGSTOP)
    return found


def go_on(worker: int) -> None:
    os.kill(worker, signal.SIGCONT)


def test_a_compaction_on_ray_makes_the_same_table(head, server, table):
    dataset = stored(server)
    before = rows(dataset)
    with TemporaryRoot() as root, JoustServer(root, arguments=["--maintenance", "off"]) as other:
        expected = create(other).compacted(**GROUPS)
        expected_fragments = fragments(stored(other))
        named = [one.metadata.to_json() for one in stored(other).get_fragments()]
    found = connect(server).open_table("t")
    for column, index in (("id", "BTREE"), ("category", "BITMAP")):
        found.create_scalar_index(column, index_type=index)
    wait_until(lambda: len(found.list_indices()) == 2)
    job = table.compact(**GROUPS)
    result = table.done(job)
    for name in ("fragments_removed", "fragments_added", "files_removed", "files_added"):
        assert result[name] == expected[name]
    dataset = stored(server)
    assert rows(dataset).equals(before)
    assert fragments(dataset) == expected_fragments
    # The entries of the manifest are those that lance makes itself, except for the names and sizes of files.
    for ours, theirs in zip(dataset.get_fragments(), named, strict=True):
        ours = ours.metadata.to_json()
        for mine, other in zip(ours["files"], theirs["files"], strict=True):
            for file in (mine, other):
                del file["path"], file["file_size_bytes"]
        assert {**ours, "id": 0} == {**theirs, "id": 0}
    assert found.count_rows("id = 12345") == 1
    assert found.count_rows("id = 10") == 0
    assert found.count_rows("category = 'c1'") == before["category"].to_pylist().count("c1")
    wait_until(lambda: ray_job(head, job)["status"] in FINAL)
    assert "workers of job" not in keys(server)


def test_small_compactions_stay_in_the_server(head):
    port = free_port()
    arguments = [*options(head, port), "--ray-min-bytes", "1GiB"]
    at = arguments.index("--ray-min-bytes")
    del arguments[at : at + 2]
    with TemporaryRoot() as root, JoustServer(root, port=port, arguments=arguments) as server:
        table = create(server)
        job = table.compact()
        assert table.done(job)["fragments_added"] == 1
        assert head.jobs(job) == []


def test_ray_compacts_for_a_server_without_functions(head):
    port = free_port()
    arguments = options(head, port)
    at = arguments.index("--functions")
    del arguments[at : at + 2]
    with TemporaryRoot() as root, JoustServer(root, port=port, arguments=arguments) as server:
        table = create(server)
        job = table.compact()
        assert table.done(job)["fragments_added"] == 1
        assert ray_job(head, job)
        source = "def double(id):\n    return id * 2"
        table.declare("double", source, ["id"], {"type": "int64"}, entry="double")
        assert "this server runs no functions" in table.failure("double")


def test_groups_that_others_change_stay_as_they_are(head, server, table):
    others = connect(server).open_table("t")
    job = table.compact(**GROUPS)
    # The driver of Ray has not started yet.
    others.add(items(FRAGMENT, start=FRAGMENT * FRAGMENTS))
    others.delete("id = 20001")
    others.update(where="id = 40001", values={"name": "late"})
    expected = rows(stored(server))
    table.done(job)
    dataset = stored(server)
    assert rows(dataset).equals(expected)
    # Two groups of two fragments are left, and the new fragments.
    assert fragments(dataset).count(FRAGMENT) >= 3
    assert len(dataset.get_fragments()) < FRAGMENTS
    assert ray_job(head, job)


@pytest.mark.parametrize("restored", [False, True])
def test_a_compaction_and_a_restore_by_others_make_it_begin_again(head, server, table, restored):
    version, before = stored(server).version, rows(stored(server))
    job = table.compact(**GROUPS)
    stopped = worker(head)
    stored(server).optimize.compact_files(target_rows_per_fragment=4 * FRAGMENT)
    if restored:
        table.post("/v1/table/t/restore", {"version": version})
    go_on(stopped)
    # After the compaction of the other program there is nothing left to do.
    assert (table.done(job)["fragments_removed"] > 0) == restored
    assert rows(stored(server)).equals(before)


def test_a_killed_worker_is_replaced(head, server, table):
    before = rows(stored(server))
    job = table.compact(**GROUPS)
    os.kill(worker(head), signal.SIGKILL)
    assert table.done(job)["fragments_removed"] == FRAGMENTS + 1
    assert rows(stored(server)).equals(before)


def test_a_killed_server_attaches_to_its_ray_job(head, server, table):
    before = rows(stored(server))
    job = table.compact(**GROUPS)
    stopped = worker(head)
    server.kill()
    time.sleep(1)
    server.__enter__()
    go_on(stopped)
    assert table.done(job)["fragments_removed"] == FRAGMENTS + 1
    assert rows(stored(server)).equals(before)
    assert len(head.jobs(job)) == 1


def test_another_server_takes_over_a_job(head, server, table):
    before = rows(stored(server))
    job = table.compact(**GROUPS)
    worker(head)
    port = free_port()
    other = JoustServer(server.root, port=port, arguments=options(head, port), key=server.key)
    with other:
        server.kill()
        assert Compactions(other, "t").done(job)["fragments_removed"] == FRAGMENTS + 1
        assert rows(stored(other)).equals(before)
        wait_until(lambda: all(one["status"] in FINAL for one in head.jobs(job)))
        assert len(head.jobs(job)) == 2
    server.__enter__()


def test_a_cancelled_job_leaves_no_files(head, server, table):
    before, version = files(server), stored(server).version
    job = table.compact(**GROUPS)
    stopped = worker(head)
    # It may have begun to write, and others have perhaps handed over.
    table.post("/v1/jobs/cancel", {"job_id": job})
    wait_until(lambda: ray_job(head, job)["status"] == "STOPPED")
    wait_until(lambda: stopped not in head.workers(TITLE))
    wait_until(lambda: files(server) == before)
    assert stored(server).version == version
    wait_until(lambda: "workers of job" not in keys(server))


def test_a_branch_and_a_clone_are_compacted(head, server, table):
    table.post("/v1/table/t/branches/create", {"name": "dev"})
    table.post("/v1/table/t/delete", {"predicate": "id < 100", "branch": "dev"})
    branch = Path(server.root, "t.lance", "tree", "dev")
    before = rows(lance.dataset(str(branch)))
    job = table.compact(branch="dev", **GROUPS)
    assert table.done(job)["fragments_removed"] >= FRAGMENTS
    assert rows(lance.dataset(str(branch))).equals(before)
    assert ray_job(head, job)
    table.post("/v1/table/c/clone", {"source_location": str(Path(server.root, "t.lance"))})
    clone = Compactions(server, "c")
    before = rows(stored(server, "c"))
    job = clone.compact(**GROUPS)
    assert clone.done(job)["fragments_removed"] >= FRAGMENTS
    assert rows(stored(server, "c")).equals(before)
    assert ray_job(head, job)


def test_a_dead_head_fails_the_job():
    """The last test: it needs a head of its own."""
    with RayHead() as head:
        port = free_port()
        with (
            TemporaryRoot() as root,
            JoustServer(root, port=port, arguments=options(head, port)) as server,
        ):
            table = create(server)
            before = files(server)
            job = table.compact(**GROUPS)
            worker(head)
            head.kill()
            ended = table.ended(job)
            assert ended["job_state"] == "FAILED"
            assert "check that the Ray head runs" in ended["failure"]["message"]
            # Only what a killed worker has not handed over may be left.
            wait_until(lambda: len(files(server) - before) <= 1)
            head.start()
            assert table.compacted(**GROUPS)["fragments_removed"] >= FRAGMENTS
