"""Indexes whose segments a Ray cluster builds: the head runs on this host."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from data import items
from function_columns import FunctionColumns
from joust_server import JoustServer, TemporaryRoot, free_port
from ray_head import FINAL, RayHead
from ray_jobs import connect, options, progressed, ray_job, stored, wait_until

FRAGMENT = 600
FRAGMENTS = 6
COUNT = FRAGMENT * FRAGMENTS
# Seconds for each segment.
SLOW = {"index_type": "IVF_HNSW_FLAT", "num_partitions": 1, "m": 200, "ef_construction": 2_000}
PARTITIONS = {"num_partitions": 4}
WORDS = ["lance", "ray", "index", "segment", "task"]


@pytest.fixture
def server(server):
    make_table(server)
    return server


def rows(start: int, count: int = FRAGMENT) -> pa.Table:
    ids = range(start, start + count)
    tags = pa.array([[f"t{id % 9}", f"t{id % 4}"] for id in ids])
    texts = pa.array([f"{WORDS[id % 5]} {WORDS[id % 3]} {id}" for id in ids])
    return items(count, start).append_column("tags", tags).append_column("text", texts)


def make_table(server: JoustServer) -> None:
    table = connect(server).create_table("t", rows(0))
    for number in range(1, FRAGMENTS):
        table.add(rows(number * FRAGMENT))


def start(server: JoustServer, column: str, **members) -> str:
    body = {"column": column, "name": "i", **members}
    jobs = FunctionColumns(server, "t")
    return jobs.post("/v1/table/t/create_index", body)["transaction_id"]


def ended(server: JoustServer, job: str) -> dict:
    return FunctionColumns(server, "t").ended(job)


def build(server: JoustServer, column: str, **members) -> dict:
    job = ended(server, start(server, column, **members))
    assert job["job_state"] == "DONE", job
    assert job["result"]["remote_segments"] >= 2, job
    return job


def index(server: JoustServer, **members) -> dict:
    (only,) = FunctionColumns(server, "t").post("/v1/table/t/index/list", members)["indexes"]
    return only


def stats(server: JoustServer) -> dict:
    return FunctionColumns(server, "t").post("/v1/table/t/index/i/stats", {})


def directories(server: JoustServer) -> set[str]:
    path = Path(server.root, "t.lance", "_indices")
    return {one.name for one in path.iterdir()} if path.exists() else set()


def named(server: JoustServer) -> set[str]:
    found = stored(server).describe_indices()
    return {str(segment.uuid) for one in found for segment in one.segments}


def search(server: JoustServer, vector, k: int, **members) -> list[int]:
    table = connect(server).open_table("t")
    query = table.search(vector).limit(k).nprobes(4).select(["id"]).fast_search()
    if refine := members.get("refine_factor"):
        query = query.refine_factor(refine)
    return query.to_arrow()["id"].to_pylist()


def check_vectors(server: JoustServer, expected: set[int]) -> None:
    """Every row is reachable, and nearly all near ones are found."""
    vectors = stored(server).to_table(columns=["id", "vector"])
    ids = vectors["id"].to_numpy()
    matrix = np.array(vectors["vector"].to_pylist(), dtype=np.float32)
    assert set(search(server, matrix[0], 2 * COUNT)) == expected
    is_expected = np.isin(ids, list(expected))
    ids, matrix = ids[is_expected], matrix[is_expected]
    hits = 0
    for row in range(0, len(ids), len(ids) // 20):
        distances = ((matrix - matrix[row]) ** 2).sum(axis=1)
        near = set(ids[np.argsort(distances)[:10]])
        hits += len(near & set(search(server, matrix[row], 10, refine_factor=20)))
    # A missing segment of six or three would lose more.
    assert hits >= 0.95 * 10 * len(range(0, len(ids), len(ids) // 20))


def matching(server: JoustServer, filter: str) -> set[int]:
    query = connect(server).open_table("t").search().where(filter).limit(2 * COUNT)
    return set(query.select(["id"]).to_arrow()["id"].to_pylist())


KINDS = {
    "BTREE": ("id", {}, "id >= 500 AND id < 700", lambda id: 500 <= id < 700),
    "BITMAP": ("category", {}, "category = 'c3'", lambda id: id % 5 == 3),
    "LABEL_LIST": ("tags", {}, "array_has_any(tags, ['t7'])", lambda id: id % 9 == 7),
    "NGRAM": ("text", {}, "contains(text, 'egment ray')", lambda id: id % 5 == 3 and id % 3 == 1),
    "ZONEMAP": ("id", {}, "id > 3500", lambda id: id > 3_500),
    "BLOOM_FILTER": (
        "id",
        {"number_of_items": 500, "probability": 0.01},
        "id = 77",
        lambda id: id == 77,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_scalar_index_finds_the_same_rows(server, kind):
    column, members, filter, condition = KINDS[kind]
    before = matching(server, filter)
    build(server, column, index_type=kind, **members)
    assert matching(server, filter) == before
    assert before == {id for id in range(COUNT) if condition(id)}
    assert index(server)["index_name"] == "i"
    expected = {"index_type": kind, "num_indexed_rows": COUNT, "num_indices": 1}
    assert {key: stats(server)[key] for key in expected} == expected
    assert directories(server) == named(server)


def test_a_text_index_of_lance_finds_the_same_rows(server):
    build(server, "text", index_type="INVERTED", block_size=256, custom_stop_words=["task"])
    table = connect(server).open_table("t")
    found = table.search("segment", query_type="fts").limit(COUNT).select(["id"]).to_arrow()
    assert set(found["id"].to_pylist()) == {id for id in range(COUNT) if id % 5 == 3}
    found = table.search("3599", query_type="fts").limit(COUNT).select(["id"]).to_arrow()
    assert found["id"].to_pylist() == [3_599]
    assert directories(server) == named(server)


@pytest.mark.parametrize(
    ("kind", "members", "segments"),
    [
        ("IVF_FLAT", PARTITIONS, 1),
        ("IVF_FLAT", {**PARTITIONS, "distance_type": "cosine"}, 1),
        ("IVF_PQ", {**PARTITIONS, "num_sub_vectors": 8}, 1),
        ("IVF_RQ", {**PARTITIONS, "num_bits": 5}, 1),
        ("IVF_HNSW_FLAT", {"num_partitions": 2}, 3),
        ("IVF_HNSW_PQ", {"num_partitions": 2, "num_sub_vectors": 8}, 3),
    ],
)
def test_a_vector_index_finds_the_near_rows(server, kind, members, segments):
    build(server, "vector", index_type=kind, **members)
    expected = {"index_type": kind, "num_indexed_rows": COUNT, "num_indices": segments}
    assert {key: stats(server)[key] for key in expected} == expected
    if members.get("distance_type") is None:
        check_vectors(server, set(range(COUNT)))
    else:
        vector = stored(server).take([5], columns=["vector"])["vector"][0].as_py()
        assert set(search(server, vector, 2 * COUNT)) == set(range(COUNT))
        assert search(server, vector, 1) == [5]
    assert directories(server) == named(server)


@pytest.mark.parametrize("kind", ["BTREE", "IVF_PQ"])
def test_changes_during_the_build_are_right(head, server, kind):
    members = {**PARTITIONS, "num_sub_vectors": 8} if kind == "IVF_PQ" else {}
    column = "id" if kind == "BTREE" else "vector"
    job = start(server, column, index_type=kind, **members)
    # The order names the version; workers start later.
    ray_job(head, job)
    table = connect(server).open_table("t")
    table.add(rows(COUNT))
    table.delete("id IN (3, 700)")
    table.update(where="id = 1300", values={"id": 9_000})
    assert ended(server, job)["result"]["remote_segments"] >= 2
    expected = set(range(COUNT)) - {3, 700, 1_300}
    assert matching(server, "id >= 0") == expected | set(range(COUNT, COUNT + FRAGMENT)) | {9_000}
    assert (matching(server, "id = 1300"), matching(server, "id = 9000")) == (set(), {9_000})
    if kind == "IVF_PQ":
        check_vectors(server, expected)
    assert stats(server)["num_unindexed_rows"] == FRAGMENT + 1
    assert directories(server) == named(server)


def test_rewritten_fragments_are_indexed_again(head, server):
    job = start(server, "vector", index_type="IVF_FLAT", **PARTITIONS)
    ray_job(head, job)
    jobs = FunctionColumns(server, "t")
    # A job of a table waits for the others, so another program compacts it.
    stored(server).optimize.compact_files()
    described = jobs.ended(job)
    assert described["job_state"] == "DONE", described
    assert stats(server)["num_unindexed_rows"] == 0
    check_vectors(server, set(range(COUNT)))
    assert directories(server) == named(server)


def test_a_branch_is_indexed(server):
    jobs = FunctionColumns(server, "t")
    jobs.post("/v1/table/t/branches/create", {"name": "b"})
    build(server, "id", index_type="BTREE", branch="b")
    assert index(server, branch="b")["index_name"] == "i"
    assert jobs.post("/v1/table/t/index/list", {})["indexes"] == []


def test_a_killed_task_is_replaced(head, server):
    job = start(server, "vector", **SLOW)
    workers = wait_until(lambda: head.workers("joust: i"))
    time.sleep(0.5)
    os.kill(workers[0], signal.SIGKILL)
    assert ended(server, job)["job_state"] == "DONE"
    check_vectors(server, set(range(COUNT)))


def test_a_killed_server_attaches_to_its_ray_job(head, server):
    job = start(server, "vector", **SLOW)
    wait_until(lambda: head.workers("joust: i"))
    server.kill()
    time.sleep(1)
    server.__enter__()
    assert ended(server, job)["job_state"] == "DONE"
    assert len(head.jobs(job)) == 1
    check_vectors(server, set(range(COUNT)))


def test_another_server_takes_over_a_build(head, server):
    job = start(server, "vector", **SLOW)
    wait_until(lambda: head.workers("joust: i"))
    port = free_port()
    other = JoustServer(server.root, port=port, arguments=options(head, port), key=server.key)
    with other:
        server.kill()
        assert ended(other, job)["job_state"] == "DONE"
        check_vectors(other, set(range(COUNT)))
        wait_until(lambda: all(one["status"] in FINAL for one in head.jobs(job)))
    server.__enter__()


def test_a_cancelled_build_removes_its_segments(head):
    port = free_port()
    # One task at a time.
    arguments = [*options(head, port), "--ray-cpus", "2"]
    with TemporaryRoot() as root, JoustServer(root, port=port, arguments=arguments) as server:
        make_table(server)
        version = stored(server).version
        job = start(server, "vector", **SLOW)
        jobs = FunctionColumns(server, "t")
        first = wait_until(lambda: directories(server))
        progressed(jobs, job)
        jobs.post("/v1/jobs/cancel", {"job_id": job})
        wait_until(lambda: ray_job(head, job)["status"] == "STOPPED")
        wait_until(lambda: not head.workers("joust: i"))
        assert stored(server).version == version
        # Ray has killed the next task, whose directory the server does not know.
        wait_until(lambda: first.isdisjoint(directories(server)))


def test_a_dead_head_fails_the_build():
    """The last test: it needs a head of its own."""
    with RayHead() as head:
        port = free_port()
        with (
            TemporaryRoot() as root,
            JoustServer(root, port=port, arguments=options(head, port)) as server,
        ):
            make_table(server)
            job = start(server, "vector", **SLOW)
            wait_until(lambda: head.workers("joust: i"))
            head.kill()
            described = ended(server, job)
            assert described["job_state"] == "FAILED"
            assert "check that the Ray head runs" in described["failure"]["message"]
            assert stored(server).list_indices() == []
