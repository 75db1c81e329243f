"""What a server writes."""

from __future__ import annotations

import json
import threading
from collections import deque
from typing import IO, Callable

_KEPT = 200


class Log:
    """Reads a stream to its end on a thread of its own and keeps the last lines.

    Args:
        stream: the server's output. The server would stop at a full pipe if its output were not read.
        on_line: is called on that thread with each line, without its line break.
    """

    def __init__(self, stream: IO[str], on_line: Callable[[str], None]) -> None:
        self._lines: deque[str] = deque(maxlen=_KEPT)
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
        """Waits until the stream has been read to its end."""
        self._thread.join(timeout)


def readable(line: str) -> str:
    """A line of the log for a person: the message of a JSON line, another line as it is."""
    try:
        entry = json.loads(line)
        text = entry["msg"]
    except (ValueError, KeyError, TypeError):
        return line
    cause = entry.get("err")
    message = cause.get("message") if isinstance(cause, dict) else None
    return f"{text}: {message}" if message else str(text)
