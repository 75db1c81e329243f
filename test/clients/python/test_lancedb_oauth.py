"""LanceDB's SDK with tokens of an OAuth provider: it gets and renews them itself."""

import asyncio

import lancedb
import pytest
from data import items
from joust_server import JoustServer, TemporaryRoot
from oauth_provider import CLIENT, SECRET, OAuthProvider

pytestmark = pytest.mark.since("0.40")


@pytest.fixture(scope="module")
def provider():
    with OAuthProvider() as running:
        yield running


@pytest.fixture(scope="module")
def server(provider):
    arguments = ["--oidc-issuer", provider.issuer, "--oidc-audience", "joust"]
    roles = ["--oidc-roles", "writers=write"]
    with TemporaryRoot() as root, JoustServer(root, arguments=[*arguments, *roles]) as running:
        yield running


def config(provider, **more):
    from lancedb.remote.oauth import OAuthConfig

    return OAuthConfig(
        issuer_url=provider.issuer,
        client_id=CLIENT,
        scopes=["joust"],
        **{"client_secret": SECRET, **more},
    )


def run(server, oauth, work):
    """Runs work with a connection of the SDK."""

    async def connected():
        database = await lancedb.connect_async(
            "db://joust",
            host_override=server.url,
            sql_host_override=f"grpc://127.0.0.1:{server.sql_port}",
            oauth_config=oauth,
        )
        return await work(database)

    return asyncio.run(connected())


def test_a_session_reads_and_writes_with_one_token(server, provider):
    async def work(database):
        table = await database.create_table("with_token", items(10))
        found = await table.query().where("id < 3").to_list()
        return await table.count_rows(), len(found)

    before = provider.tokens
    assert run(server, config(provider), work) == (10, 3)
    assert provider.tokens == before + 1


def test_a_session_renews_its_token(server, provider):
    async def work(database):
        for _ in range(3):
            await database.list_tables()

    before = provider.tokens
    provider.lifetime = 60
    try:
        # A token that has not this much time left is renewed before each request.
        run(server, config(provider, refresh_buffer_secs=120), work)
    finally:
        provider.lifetime = 3_600
    assert provider.tokens >= before + 2


def test_a_wrong_secret_gives_no_session(server, provider):
    with pytest.raises(Exception, match="invalid_client|401"):
        run(server, config(provider, client_secret="another"), lambda one: one.list_tables())


def test_a_role_limits_a_session(server, provider):
    """The group `writers` may not drop a whole namespace."""

    async def work(database):
        await database.create_namespace(["ns"])
        await database.create_table("t", items(1), namespace_path=["ns"])
        await database.drop_namespace(["ns"], mode="SKIP", behavior="CASCADE")

    with pytest.raises(Exception, match="needs admin|403"):
        run(server, config(provider), work)
