"""A joust server as a child process."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import tempfile
import time
import weakref
from pathlib import Path
from types import TracebackType
from typing import Any

from ._address import Address
from ._log import Log, readable
from ._options import flags
from ._program import GUARDED, NODE
from ._ready import is_ready

_SHOWN = 20


class ServerError(RuntimeError):
    """The server did not start, or it ended.

    Attributes:
        log: the last lines that the server wrote, oldest first.
    """

    def __init__(self, message: str, log: list[str]) -> None:
        shown = "\n".join(f"  {readable(line)}" for line in log[-_SHOWN:])
        super().__init__(f"{message}. The server's last lines:\n{shown}" if shown else message)
        self.log = log


class Server:
    """A joust server as a child process.

    As a context manager it starts at ``with`` and stops at the end of the block, also after an exception.
    In a notebook, call ``start`` and ``stop``. It needs no event loop. The server stops when this object is
    collected and when the interpreter ends, even if the interpreter is killed.

    Args:
        root: directory, or ``s3://``, ``gs://`` or ``az://`` URI, of the tables. ``None``: a temporary
            directory, which ``stop`` removes.
        api_key: the admin key. ``None``: a new random one.
        startup_timeout: seconds until the server must be ready, including ``prewarm``.
        stop_timeout: seconds that a stopping server has to complete requests in flight before it is killed.
        options: options of ``joust serve``, with underscores for hyphens: ``port=2333``,
            ``memory="4GiB"``, ``prewarm=["films"]``, ``storage_option={"aws_region": "eu-central-1"}``,
            ``maintenance=False``. Without ``port`` the system selects a free port.

    Raises:
        TypeError: an option has a value of an unsupported type.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        api_key: str | None = None,
        startup_timeout: float = 60.0,
        stop_timeout: float = 35.0,
        **options: Any,
    ) -> None:
        self._root = None if root is None else os.fspath(root)
        self._flags = flags({"port": 0, **options})
        self._api_key = api_key or f"joust_{secrets.token_urlsafe(32)}"
        self._startup_timeout = startup_timeout
        self._stop_timeout = stop_timeout
        self._process: subprocess.Popen[str] | None = None
        self._log: Log | None = None
        self._address = Address()
        self._end: weakref.finalize[..., Server] | None = None

    def start(self) -> Server:
        """Starts the server and waits until it is ready. Does nothing if it already runs.

        Returns:
            This object.

        Raises:
            ServerError: the server ended, or was not ready in time and was stopped.
        """
        if self.running:
            return self
        self.stop()
        root = tempfile.mkdtemp(prefix="joust-") if self._root is None else self._root
        temporary = root if self._root is None else None
        # A new object, because the last lines of an earlier server may still arrive.
        self._address = Address()
        self._process = process = subprocess.Popen(
            [NODE, GUARDED, "serve", root, *self._flags],
            env=_environment(self._api_key),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            # Ctrl-C in a terminal or notebook must interrupt the Python code, not the server.
            start_new_session=True,
        )
        assert process.stdout is not None
        self._log = Log(process.stdout, self._address.read)
        # Called by `stop`, at the collection of this object, and at the exit of the interpreter.
        self._end = weakref.finalize(
            self, _end, process, self._log, temporary, self._stop_timeout, os.getpid()
        )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Completes requests in flight and stops the server. Does nothing if it does not run."""
        if self._end is not None:
            self._end()
        self._end = None
        self._process = None

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = self._address.url if self.running else "stopped"
        return f"<joust.Server {state}>"

    @property
    def running(self) -> bool:
        """Whether the process of the server runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def url(self) -> str:
        """The address of the server, such as ``http://127.0.0.1:40123``.

        Raises:
            ServerError: the server does not run.
        """
        if self._address.url is None or not self.running:
            raise ServerError("the joust server does not run: call start(), or use it in a with", self.log)
        return self._address.url

    @property
    def api_key(self) -> str:
        """The admin key that the server accepts."""
        return self._api_key

    @property
    def pid(self) -> int | None:
        """The process id of the server; ``None`` if it does not run."""
        return self._process.pid if self._process is not None and self.running else None

    @property
    def log(self) -> list[str]:
        """The last lines that the server wrote, oldest first. All lines after the start are JSON."""
        return [] if self._log is None else self._log.lines()

    def lancedb(self, database: str = "joust") -> dict[str, str]:
        """Keyword arguments of ``lancedb.connect`` and ``lancedb.connect_async``.

        Args:
            database: a name that LanceDB requires. It selects the namespace of the root with this name if there is
                one, else the root.

        Returns:
            ``{"uri": "db://joust", "api_key": ..., "host_override": "http://127.0.0.1:40123"}``

        Raises:
            ServerError: the server does not run.
        """
        return {"uri": f"db://{database}", "api_key": self._api_key, "host_override": self.url}

    def lance_namespace(self) -> dict[str, str]:
        """Properties of ``lance_namespace.connect("rest", ...)``.

        Raises:
            ServerError: the server does not run.
        """
        return {"uri": self.url, "header.Authorization": f"Bearer {self._api_key}"}

    def _wait(self) -> None:
        deadline = time.monotonic() + self._startup_timeout
        while time.monotonic() < deadline:
            assert self._process is not None and self._log is not None
            code = self._process.poll()
            if code is not None:
                self._log.finish()
                raise ServerError(f"the joust server ended with code {code} before it was ready", self.log)
            if self._address.known.wait(0.05):
                if is_ready(self._address.url or ""):
                    return
                time.sleep(0.05)
        raise ServerError(f"the joust server was not ready within {self._startup_timeout:g} s", self.log)


def _environment(api_key: str) -> dict[str, str]:
    """The environment of the server with the key, because other users can read the flags of a process."""
    inherited = {name: value for name, value in os.environ.items() if name != "JOUST_API_KEY_FILE"}
    return {**inherited, "JOUST_API_KEY": api_key}


def _end(
    process: subprocess.Popen[str],
    log: Log,
    temporary: str | None,
    timeout: float,
    owner: int,
) -> None:
    """Stops a server. A reference to `Server` would prevent its collection."""
    # A forked child inherits the object, but must not stop the server of its parent.
    if os.getpid() != owner:
        return
    process.terminate()
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    log.finish()
    if temporary is not None:
        shutil.rmtree(Path(temporary), ignore_errors=True)
