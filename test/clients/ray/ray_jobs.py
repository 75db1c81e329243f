"""Servers whose jobs run on Ray, and what their jobs do."""

import json
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import lance
from function_columns import FunctionColumns
from joust_server import REPOSITORY, JoustServer
from ray_head import FINAL, RayHead

import lancedb


def options(head: RayHead, port: int, maintenance: str = "off") -> list[str]:
    return [
        *("--executor", "ray", "--functions", "ray", "--maintenance", maintenance),
        *("--ray-address", head.address, "--ray-token-file", str(head.token_file)),
        *("--ray-server-url", f"http://127.0.0.1:{port}", "--auto-refresh-interval", "1s"),
        *("--function-timeout", "10s", "--function-env", "GREETING=hello"),
        # Also the small jobs of these tests.
        *("--ray-min-bytes", "0"),
    ]


def connect(server: JoustServer):
    return lancedb.connect("db://joust", api_key=server.key, host_override=server.url)


def stored(server: JoustServer, table: str = "t") -> lance.LanceDataset:
    return lance.dataset(str(Path(server.root, f"{table}.lance")))


def wait_until(condition, seconds: float = 60):
    deadline = time.monotonic() + seconds
    while not (met := condition()):
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.05)
    return met


def progressed(columns: FunctionColumns, job: str, least: int = 1) -> None:
    """Waits until Ray has done so much."""

    def has_progressed():
        described = columns.job(job)
        assert described["job_state"] in ("QUEUED", "IN_PROGRESS"), described
        return (described.get("progress") or {}).get("completed", 0) >= least

    wait_until(has_progressed)


def keys(server: JoustServer) -> str:
    command = ["node", REPOSITORY / "dist/cli/main.js", "key", "list", server.root]
    return subprocess.check_output(command, text=True)


def call(server: JoustServer, path: str, body: dict) -> tuple[int, dict]:
    """A request of a worker, with its own token."""
    headers = {"authorization": f"Bearer {body['token']}", "content-type": "application/json"}
    url = f"{server.url}/v1/jobs/worker/{path}"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def ray_job(head: RayHead, job: str) -> dict:
    """The only Ray job of a job."""
    (only,) = wait_until(lambda: head.jobs(job))
    return only


def stop(head: RayHead, submission: str) -> None:
    url = f"{head.address}/api/jobs/{submission}"
    headers = {"authorization": f"Bearer {head.token}"}
    urllib.request.urlopen(urllib.request.Request(f"{url}/stop", b"", headers)).read()
    wait_until(lambda: any(
        one["status"] in FINAL for one in head.jobs() if one["submission_id"] == submission
    ))
