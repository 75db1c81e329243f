import itertools

import lance_namespace
import lancedb
import pytest
from data import items
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


@pytest.fixture
def database(server):
    """The LanceDB SDK in remote mode, with nothing but the server's address."""
    return lancedb.connect("db://joust", api_key=server.key, host_override=server.url)


@pytest.fixture
def table(database, name):
    """A remote table of ten rows; version 1."""
    return database.create_table(name, items(10))


@pytest.fixture
def server_database():
    """The SDK on a server of its own, where nobody else's tables are listed."""
    with TemporaryRoot() as root, JoustServer(root) as server:
        yield lancedb.connect("db://joust", api_key=server.key, host_override=server.url)
