"""Starts a Ray head on this host, with a token."""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from joust_server import free_port

FINAL = ("STOPPED", "SUCCEEDED", "FAILED")
BIN = Path(sys.executable).parent


class RayHead:
    """All its processes have the directory of its session in their command, or are children of such a process."""

    def __init__(self, cpus: int = 2, modules: str | None = None) -> None:
        """`modules`: a directory with Python modules that come before those that are installed."""
        self.cpus, self.modules = cpus, modules
        self.token = secrets.token_hex(32)
        # A socket of Ray has a path of at most 107 bytes.
        self.directory = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
        self.token_file = Path(self.directory, "token")
        self.token_file.write_text(self.token + "\n")
        self.ports = [free_port() for _ in range(5)]
        self.address = f"http://127.0.0.1:{self.ports[1]}"

    def __enter__(self) -> "RayHead":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self) -> None:
        gcs, dashboard, agent, clients, metrics = self.ports
        environment = {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "HOME": self.directory,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self.token,
            **({"PYTHONPATH": self.modules} if self.modules else {}),
        }
        command = [
            *(BIN / "ray", "start", "--head", "--disable-usage-stats"),
            *(f"--num-cpus={self.cpus}", f"--temp-dir={self.directory}/s"),
            *("--node-ip-address=127.0.0.1", f"--port={gcs}"),
            *("--dashboard-host=127.0.0.1", f"--dashboard-port={dashboard}"),
            *(f"--dashboard-agent-listen-port={agent}", f"--ray-client-server-port={clients}"),
            *(f"--metrics-export-port={metrics}", "--min-worker-port=0", "--max-worker-port=0"),
            *("--object-store-memory=100000000",),
        ]
        started = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert started.returncode == 0, started.stdout + started.stderr
        deadline = time.monotonic() + 60
        while True:
            try:
                self.jobs()
                return
            except OSError:
                assert time.monotonic() < deadline, "the Jobs API of Ray is not ready"
                time.sleep(0.2)

    def kill(self) -> None:
        deadline = time.monotonic() + 30
        while processes := self.processes():
            assert time.monotonic() < deadline, processes
            for process in processes:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.1)

    def processes(self) -> list[int]:
        """The processes of this head, and their descendants."""
        parents, ours = {}, set()
        clients = f"--port={self.ports[3]}".encode()
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                command = path.read_bytes()
                fields = path.with_name("stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if fields[0] == "Z":
                continue
            process = int(path.parent.name)
            parents[process] = int(fields[1])
            # The server of Ray's own clients has no directory.
            is_client_server = b"ray.util.client.server" in command and clients in command
            if f"{self.directory}/s".encode() in command or is_client_server:
                ours.add(process)
        while children := {one for one, parent in parents.items() if parent in ours} - ours:
            ours |= children
        return sorted(ours - {os.getpid()})

    def workers(self, title: str) -> list[int]:
        """The processes of running tasks with that title."""
        found = []
        for process in self.processes():
            try:
                command = Path(f"/proc/{process}/cmdline").read_bytes()
            except OSError:
                continue
            if command.startswith(f"ray::{title}".encode()):
                found.append(process)
        return found

    def jobs(self, job: str = "") -> list[dict]:
        """The jobs of Ray for a job of joust."""
        request = urllib.request.Request(
            f"{self.address}/api/jobs/", headers={"authorization": f"Bearer {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=10) as reply:
            jobs = json.load(reply)
        return [one for one in jobs if (one["submission_id"] or "").startswith(f"joust-{job}")]
