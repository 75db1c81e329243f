import itertools
from importlib.metadata import version

import lance_namespace
import lancedb
import pytest
from data import items
from joust_server import JoustServer, TemporaryRoot

_numbers = itertools.count(1)


def _parts(text: str) -> list[int]:
    return [int(part) for part in text.split(".")]


def pytest_runtest_setup(item):
    """Skips a test whose calls the installed SDK does not have yet."""
    installed = version("lancedb")
    for mark in item.iter_markers("since"):
        if _parts(installed) < _parts(mark.args[0]):
            pytest.skip(f"lancedb {installed} cannot do this: it needs {mark.args[0]}")


@pytest.fixture(scope="session")
def server():
    with TemporaryRoot() as root, JoustServer(root) as running:
        yield running


@pytest.fixture
def name() -> str:
    """An unused name."""
    return f"table_{next(_numbers)}"


@pytest.fixture
def rest(server):
    """pylance's namespace client, a Python wrapper of the Rust client."""
    header = {"header.Authorization": f"Bearer {server.key}"}
    return lance_namespace.connect("rest", {"uri": server.url, **header})


@pytest.fixture
def database(server):
    """The LanceDB SDK in remote mode, configured with the server's address only."""
    return lancedb.connect("db://joust", api_key=server.key, host_override=server.url)


@pytest.fixture
def table(database, name):
    """A remote table of ten rows; version 1."""
    return database.create_table(name, items(10))


@pytest.fixture
def server_database():
    """The SDK on a separate server without tables of other tests."""
    with TemporaryRoot() as root, JoustServer(root) as server:
        yield lancedb.connect("db://joust", api_key=server.key, host_override=server.url)


@pytest.fixture
def adbc(server):
    """A connection of ADBC whose password is the key."""
    # Not in the environments of older SDKs, which run other tests.
    from adbc_driver_flightsql import dbapi

    options = {"username": "anyone", "password": server.key}
    with dbapi.connect(
        f"grpc://127.0.0.1:{server.sql_port}", db_kwargs=options, autocommit=True
    ) as connection:
        yield connection
