import itertools

import lance_namespace
import pytest
from joust_server import JoustServer, TemporaryRoot

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server():
    with TemporaryRoot() as root, JoustServer(root) as running:
        yield running


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"table_{next(_numbers)}"


@pytest.fixture
def rest(server):
    """pylance's namespace client, which is the Rust client with Python around it."""
    header = {"header.Authorization": f"Bearer {server.key}"}
    return lance_namespace.connect("rest", {"uri": server.url, **header})
