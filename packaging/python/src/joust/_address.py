"""Where a server listens, as it says itself."""

from __future__ import annotations

import re
import threading

_LISTENING = re.compile(r"joust listening on (https?)://(.+):(\d+)")
#: A server on every address is reached by loopback.
_EVERY = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}


class Address:
    """Reads the address from the server's output. Knows no `Server`, which could not be collected then."""

    def __init__(self) -> None:
        self.known = threading.Event()
        self.url: str | None = None

    def read(self, line: str) -> None:
        """One line of the output, on any thread."""
        if match := _LISTENING.fullmatch(line):
            scheme, host, port = match.groups()
            self.url = f"{scheme}://{_EVERY.get(host, host)}:{port}"
            self.known.set()
