"""Kills a worker of Ray, the server or the Ray head in the middle of each kind of job that runs on Ray.

`npm run test:compute -- RUNS` makes many runs. A run is determined by its seed, except for how far the job has come.
"""

import os
import random
import signal
import time

import pytest
from job_run import Run
from joust_server import JoustServer, TemporaryRoot, free_port
from ray_head import RayHead
from ray_jobs import options, wait_until

KINDS = ["backfill", "compaction", "vector", "scalar", "inverted"]
# The head comes last: its end takes half a minute to be noticed.
VICTIMS = ["worker", "server", "worker", "server", "head"]
RUNS = int(os.environ.get("JOUST_TEST_COMPUTE_RUNS", len(KINDS)))
SEED = int(os.environ.get("JOUST_TEST_SEED", time.time_ns() % 2**31))
# A Ray job begins to work after about three seconds.
LONGEST = 5


@pytest.fixture(scope="module")
def own_head():
    """These tests kill it."""
    with RayHead() as running:
        yield running


def kill_worker(head: RayHead, run: Run, job: str) -> None:
    """Kills a process that computes a task, unless the job ends first."""

    def found() -> bool:
        return bool(head.workers("joust: ")) or run.columns.job(job)["job_state"] == "DONE"

    wait_until(found)
    time.sleep(run.chance.random() / 2)
    workers = head.workers("joust: ")
    if workers:
        os.kill(run.chance.choice(workers), signal.SIGKILL)


@pytest.mark.parametrize("number", range(RUNS))
def test_a_killed_job_on_ray_loses_and_doubles_nothing(own_head, number):
    head = own_head
    seed = SEED + number
    chance = random.Random(seed)
    kind = KINDS[number % len(KINDS)]
    # Each victim with each kind, whatever the number of runs.
    victim = VICTIMS[(number + number // len(KINDS)) % len(VICTIMS)]
    print(f"seed {seed}: {kind}, {victim}")
    port = free_port()
    with (
        TemporaryRoot() as root,
        JoustServer(root, port=port, arguments=options(head, port)) as server,
    ):
        run = Run(server, chance, has_views=False)
        job = run.start(kind)
        ids = sorted(row["id"] for row in run.rows("t"))
        if victim == "worker":
            kill_worker(head, run, job)
        elif victim == "server":
            time.sleep(chance.random() * LONGEST)
            server.kill()
            server.__enter__()
        else:
            time.sleep(chance.random() * LONGEST)
            head.kill()
            ended = run.columns.ended(job)
            head.start()
            if ended["job_state"] == "FAILED":
                assert "check that the Ray head runs" in ended["failure"]["message"]
                run.check_table(ids)
                job = run.start(kind)
        run.done(job)
        run.check(kind, ids)
