"""Shallow clones of joust beside pylance, which cleans up their sources and reads them."""

from datetime import timedelta

import lance
import lancedb
import pytest
from data import items
from joust_server import JoustServer, TemporaryRoot


@pytest.fixture
def root():
    with TemporaryRoot() as path:
        yield path


def connect(server: JoustServer):
    return lancedb.connect("db://joust", api_key=server.key, host_override=server.url)


def ids(table) -> list[int]:
    return sorted(table.search().select(["id"]).limit(1_000).to_arrow()["id"].to_pylist())


def clean_up(path: str):
    return lance.dataset(path).cleanup_old_versions(
        older_than=timedelta(0), delete_unverified=True, error_if_tagged_old_versions=False
    )


def test_pylance_keeps_the_files_of_a_clone_until_it_is_dropped(root):
    path = f"{root}/source.lance"
    with JoustServer(root) as server:
        database = connect(server)
        source = database.create_table("source", items(40))
        source.add(items(10, start=40))
        database.clone_table("clone", source.uri)
        database.create_table("source", items(3), mode="overwrite")
        with pytest.raises(OSError, match="joust-clone-"):
            lance.dataset(path).cleanup_old_versions(older_than=timedelta(0))
        assert clean_up(path).old_versions == 1
        assert ids(database.open_table("clone")) == list(range(50))
    # No server has the files open any more.
    assert clean_up(path).old_versions == 0
    with JoustServer(root) as server:
        database = connect(server)
        clone = database.open_table("clone")
        assert ids(clone) == list(range(50))
        clone.add(items(5, start=50))
        assert lance.dataset(f"{root}/clone.lance").count_rows("id >= 45") == 10
        clean_up(f"{root}/clone.lance")
        assert ids(clone) == list(range(55))
        database.drop_table("clone")
        assert clean_up(path).old_versions == 1


def test_a_clone_that_pylance_made_is_served(root):
    source = lance.write_dataset(items(20), f"{root}/source.lance")
    source.tags.create("kept", 1)
    source.shallow_clone(f"{root}/clone.lance", "kept")
    with JoustServer(root) as server:
        clone = connect(server).open_table("clone")
        clone.delete("id < 5")
        assert ids(clone) == list(range(5, 20))
