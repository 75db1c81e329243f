"""The address of a server, from its output."""

from __future__ import annotations

import re
import threading

_LISTENING = re.compile(r"joust listening on (https?)://(.+):(\d+)")
#: The loopback address of a server that listens on all addresses.
_ALL_ADDRESSES = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}


class Address:
    """Reads the address from the output of the server. A reference to `Server` would prevent its collection."""

    def __init__(self) -> None:
        self.known = threading.Event()
        self.url: str | None = None

    def read(self, line: str) -> None:
        """Reads one line of the output. Any thread may call it."""
        if match := _LISTENING.fullmatch(line):
            scheme, host, port = match.groups()
            self.url = f"{scheme}://{_ALL_ADDRESSES.get(host, host)}:{port}"
            self.known.set()
