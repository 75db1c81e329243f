"""Kills a worker of Ray, the server or the Ray head in the middle of each kind of job that runs on Ray.

`npm run test:compute -- RUNS` makes many runs. The seed of a run determines it, except for how far the job has come:
with JOUST_TEST_SEED it is the first one.
"""

import os
import random
import signal
import time

import pytest
from job_run import VIEWS, Run
from joust_server import JoustServer, TemporaryRoot, free_port
from ray_head import FINAL, RayHead
from ray_jobs import options, wait_until
from unnamed_files import check_clean_up

KINDS = ["backfill", "compaction", "view", "numbers", "chunks", "vector", "scalar", "inverted"]
# The head comes last: its end takes half a minute to be noticed.
VICTIMS = ["worker", "server", "worker", "server", "head"]
RUNS = int(os.environ.get("JOUST_TEST_COMPUTE_RUNS", len(KINDS)))
SEED = int(os.environ.get("JOUST_TEST_SEED", time.time_ns() % 2**31))
# A Ray job begins to work after about three seconds.
LONGEST = 3
# Runs whose job had not ended before the kill.
hits = []


@pytest.fixture(scope="module")
def own_head():
    """These tests kill it."""
    with RayHead() as running:
        yield running


def ended(run: Run, job: str) -> bool:
    return run.columns.job(job)["job_state"] == "DONE"


def wait_for_a_task(head: RayHead, run: Run, job: str) -> list[int]:
    """The processes that compute tasks, unless the job ends first."""
    wait_until(lambda: head.workers("joust: ") or ended(run, job))
    time.sleep(run.chance.random() / 2)
    return head.workers("joust: ")


def has_ended(head: RayHead) -> bool:
    """No worker writes files any more."""
    return all(one["status"] in FINAL for one in head.jobs()) and not head.workers("joust: ")


@pytest.mark.parametrize("number", range(RUNS))
def test_a_killed_job_on_ray_loses_and_doubles_nothing(own_head, number):
    head = own_head
    seed = SEED + number
    chance = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    # Each victim with each kind in 40 runs.
    victim = VICTIMS[(seed + seed // len(KINDS)) % len(VICTIMS)]
    print(f"seed {seed}: {kind}, {victim}")
    port = free_port()
    with TemporaryRoot() as root:
        with JoustServer(root, port=port, arguments=options(head, port)) as server:
            run = Run(server, chance, has_views=kind in VIEWS)
            job = run.start(kind)
            ids = sorted(row["id"] for row in run.rows("t"))
            # Also before the first task.
            if victim == "worker" or chance.random() < 0.7:
                workers = wait_for_a_task(head, run, job)
            else:
                time.sleep(chance.random() * LONGEST)
            hits.append(not ended(run, job))
            if victim == "worker":
                if workers:
                    os.kill(chance.choice(workers), signal.SIGKILL)
            elif victim == "server":
                server.kill()
                server.__enter__()
            else:
                head.kill()
                described = run.columns.ended(job)
                head.start()
                if described["job_state"] == "FAILED":
                    assert "check that the Ray head runs" in described["failure"]["message"]
                    run.check_table(ids)
                    job = run.start_again(kind)
            run.done(job)
            run.check(kind, ids)
            wait_until(lambda: has_ended(head))
        check_clean_up(root)


def test_most_kills_came_in_time():
    print(f"{sum(hits)} of {len(hits)} jobs were running")
    assert sum(hits) * 2 > len(hits)
