"""The output of a server."""

from __future__ import annotations

import json
import threading
from collections import deque
from typing import IO, Callable

_MAX_LINES = 200


class Log:
    """Reads a stream on a separate thread until its end, and stores the last lines.

    Args:
        stream: the output of the server. The server blocks if the pipe is full.
        on_line: receives each line on that thread, without the line break.
    """

    def __init__(self, stream: IO[str], on_line: Callable[[str], None]) -> None:
        self._lines: deque[str] = deque(maxlen=_MAX_LINES)
        self._stream = stream
        self._on_line = on_line
        self._thread = threading.Thread(target=self._read, name="joust-log", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._stream:
            for line in self._stream:
                self._lines.append(line.rstrip("\n"))
                self._on_line(line.rstrip("\n"))

    def lines(self) -> list[str]:
        """The last lines, oldest first."""
        return list(self._lines)

    def finish(self, timeout: float = 5.0) -> None:
        """Waits until the thread reaches the end of the stream."""
        self._thread.join(timeout)


def readable(line: str) -> str:
    """The message of a JSON line; any other line unchanged."""
    try:
        entry = json.loads(line)
        text = entry["msg"]
    except (ValueError, KeyError, TypeError):
        return line
    cause = entry.get("err")
    message = cause.get("message") if isinstance(cause, dict) else None
    return f"{text}: {message}" if message else str(text)
