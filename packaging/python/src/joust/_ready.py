"""The readiness check of a server."""

from __future__ import annotations

import http.client
import ssl
from urllib.parse import urlsplit


def is_ready(url: str) -> bool:
    """Whether ``/readyz`` answers 200. Uses no proxy and does not verify the certificate."""
    address = urlsplit(url)
    host, port = address.hostname or "", address.port
    connection: http.client.HTTPConnection
    if address.scheme == "https":
        # The request contains no key, and this process started the server on this host.
        context = ssl._create_unverified_context()  # noqa: S323
        connection = http.client.HTTPSConnection(host, port, timeout=5, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
