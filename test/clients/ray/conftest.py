"""One Ray head for all tests, and a server for each."""

import pytest
from joust_server import JoustServer, TemporaryRoot, free_port
from ray_head import RayHead
from ray_jobs import options


@pytest.fixture(scope="session")
def head():
    with RayHead() as running:
        yield running


@pytest.fixture
def server(head):
    port = free_port()
    with (
        TemporaryRoot() as root,
        JoustServer(root, port=port, arguments=options(head, port)) as running,
    ):
        yield running
