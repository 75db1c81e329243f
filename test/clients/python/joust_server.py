"""Starts the built server in a separate process."""

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]


@dataclass
class JoustServer:
    root: str
    key: str = field(default_factory=lambda: f"joust_{secrets.token_urlsafe(32)}")
    url: str = ""
    sql_port: int = field(default_factory=lambda: free_port())
    arguments: list[str] = field(default_factory=list)
    # 0: another one after each start.
    port: int = 0

    def __enter__(self) -> "JoustServer":
        # Another program may take the port for SQL between its choice and the start.
        for _ in range(3):
            seen = self._start()
            if self.url:
                return self
            self.sql_port = free_port()
        raise RuntimeError("the server ended before it was ready:\n" + "".join(seen))

    def _start(self) -> list[str]:
        """Sets `url` once the server is ready. Returns what it has printed."""
        self.url = ""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("JOUST_")}
        self._process = subprocess.Popen(
            [
                "node",
                REPOSITORY / "dist/cli/main.js",
                "serve",
                self.root,
                *("--port", str(self.port), "--sql-port", str(self.sql_port)),
                *self.arguments,
            ],
            env={**environment, "JOUST_API_KEY": self.key},
            stdout=subprocess.PIPE,
            text=True,
        )
        seen = []
        for line in self._process.stdout:
            seen.append(line)
            if ready := re.search(r"joust listening on (http://\S+)", line):
                self.url = ready[1]
                break
        return seen

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(timeout=30)
        assert code == 0, f"the server ended with {code}"

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """Ends the server at once. `__enter__` starts another one."""
        self._process.kill()
        self._process.wait()

    def create_key(self) -> tuple[str, str]:
        """A key without a role, and its id."""
        command = ["node", REPOSITORY / "dist/cli/main.js", "key", "create", "--name", "none"]
        out = subprocess.check_output([*command, "--role", "none", self.root], text=True)
        key, id = re.search(r": (joust_\S+)\nid: (\S+)", out).groups()
        return key, id


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class TemporaryRoot:
    def __enter__(self) -> str:
        self._path = tempfile.mkdtemp(prefix="joust-clients-")
        return self._path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._path, ignore_errors=True)
