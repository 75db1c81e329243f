"""Kills the server, or the process of a function, in the middle of each kind of job.

`npm run test:compute -- RUNS` makes many runs. A run is determined by its seed, except for how far the job has come.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest
from job_run import Run
from joust_server import JoustServer, TemporaryRoot
from unnamed_files import check_clean_up

KINDS = ["backfill", "view", "groups", "chunks", "vector", "scalar", "text", "compaction"]
RUNS = int(os.environ.get("JOUST_TEST_COMPUTE_RUNS", len(KINDS)))
SEED = int(os.environ.get("JOUST_TEST_SEED", time.time_ns() % 2**31))


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
    kind = KINDS[seed % len(KINDS)]
    print(f"seed {seed}: {kind}")
    options = ["--functions", "subprocess", "--python", sys.executable, "--maintenance", "off"]
    with TemporaryRoot() as root:
        with JoustServer(root, arguments=options) as server:
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
        check_clean_up(root)
