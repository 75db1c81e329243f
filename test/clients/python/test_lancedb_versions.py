"""`lancedb` 0.40 in remote mode: versions, tags, branches, checkout and restore."""

from datetime import datetime, timedelta

import pytest
from data import items
from lancedb.index import BTree
from rows import ids


@pytest.fixture
def versioned(table):
    """Ten rows in version 1, 15 in version 2, 20 in version 3."""
    table.add(items(5, start=10))
    table.add(items(5, start=15))
    return table


def test_versions_are_listed(versioned):
    versions = versioned.list_versions()
    assert [version["version"] for version in versions] == [1, 2, 3]
    times = [version["timestamp"] for version in versions]
    assert times == sorted(times)
    assert abs(datetime.now() - times[-1]) < timedelta(minutes=5)
    assert versioned.version == 3


def test_checkout(versioned):
    for version, rows in ((1, 10), (2, 15), (3, 20)):
        versioned.checkout(version)
        assert versioned.version == version
        assert versioned.count_rows() == rows
        assert len(ids(versioned)) == rows
    versioned.checkout(1)
    with pytest.raises(Exception, match="checkout|checked out|read.only"):
        versioned.add(items(1))
    versioned.checkout_latest()
    versioned.add(items(1, start=20))
    assert versioned.count_rows() == 21
    # The client's fixed message for every 404 of a table.
    with pytest.raises(ValueError, match="not found"):
        versioned.checkout(99)


@pytest.mark.since("0.40")
def test_a_checked_out_handle_reads_its_version(database, versioned):
    pinned = database.open_table(versioned.name)
    pinned.checkout(2)
    versioned.delete("true")
    versioned.add_columns({"twice": "price * 2"})
    assert ids(pinned) == list(range(15))
    assert "twice" not in pinned.schema.names
    assert pinned.search().where("id = 3").to_list()[0]["name"] == "item 3"
    versioned.create_index("id", config=BTree(), wait_timeout=timedelta(seconds=60))
    assert list(pinned.list_indices()) == []
    opened = database.open_table(versioned.name, version=1)
    assert opened.count_rows() == 10


def test_restore(versioned):
    versioned.checkout(1)
    versioned.restore()
    assert ids(versioned) == list(range(10))
    assert versioned.version == 4
    versioned.restore(3)
    assert ids(versioned) == list(range(20))
    versioned.tags.create("middle", 2)
    versioned.restore("middle")
    assert ids(versioned) == list(range(15))
    assert [version["version"] for version in versioned.list_versions()] == [1, 2, 3, 4, 5, 6]
    with pytest.raises(Exception, match="not found"):
        versioned.restore(99)


def test_tags(versioned):
    tags = versioned.tags
    assert tags.list() == {}
    tags.create("first", 1)
    tags.create("second", 2)
    listed = tags.list()
    assert {name: tag["version"] for name, tag in listed.items()} == {"first": 1, "second": 2}
    assert all(tag["manifest_size"] > 0 for tag in listed.values())
    assert tags.get_version("first") == 1
    versioned.checkout("first")
    assert versioned.count_rows() == 10
    versioned.checkout_latest()
    tags.update("first", 3)
    assert tags.get_version("first") == 3
    versioned.checkout("first")
    assert versioned.count_rows() == 20

    with pytest.raises(Exception, match="already"):
        tags.create("first", 1)
    for wrong in (lambda: tags.create("new", 99), lambda: tags.update("second", 99)):
        with pytest.raises(Exception, match="99|not found"):
            wrong()
    for absent in (tags.delete, tags.get_version, lambda tag: tags.update(tag, 1)):
        with pytest.raises(Exception, match="nobody|not found"):
            absent("nobody")
    tags.delete("first")
    assert list(tags.list()) == ["second"]
    with pytest.raises(ValueError, match="not found"):
        versioned.checkout("first")


def test_branches(table):
    table.tags.create("fork", 1)
    branch = table.branches.create("dev")
    assert branch.current_branch() == "dev"
    assert table.current_branch() is None
    branch.add(items(5, start=10))
    branch.delete("id = 0")
    assert branch.update(where="id = 1", values={"name": "there"}).rows_updated == 1
    merge = branch.merge_insert("id").when_not_matched_insert_all()
    assert merge.execute(items(2, start=14)).num_inserted_rows == 1
    branch.add_columns({"twice": "price * 2"})
    branch.create_index("id", config=BTree(), wait_timeout=timedelta(seconds=60))

    assert ids(branch) == list(range(1, 16))
    assert branch.count_rows("twice = id and name = 'there'") == 1
    assert [entry.name for entry in branch.list_indices()] == ["id_idx"]
    assert branch.stats()["num_rows"] == 15
    assert ids(table) == list(range(10))
    assert "twice" not in table.schema.names
    assert list(table.list_indices()) == []
    assert table.count_rows("name = 'there'") == 0

    again = table.branches.checkout("dev")
    assert again.count_rows() == 15
    old = table.branches.checkout("dev", version=branch.list_versions()[0]["version"])
    assert old.count_rows() < 16
    branch.tags.create("on_dev", branch.version)
    assert branch.tags.get_version("on_dev") == branch.version


def test_branches_are_listed_and_deleted(versioned):
    branches = versioned.branches
    branches.create("old", from_version=1)
    branches.create("new")
    nested = branches.create("nested", from_ref="old")
    assert nested.count_rows() == 10
    listed = branches.list()
    assert set(listed) == {"old", "new", "nested"}
    assert listed["old"]["parent_version"] == 1
    assert listed["new"]["parent_version"] == 3
    assert branches.checkout("old").count_rows() == 10
    with pytest.raises(Exception, match="already exists|409"):
        branches.create("new")
    with pytest.raises(Exception, match="nobody|not exist|not found"):
        branches.create("more", from_ref="nobody")
    with pytest.raises(Exception, match="nobody|not exist|not found"):
        branches.delete("nobody")
    branches.delete("nested")
    branches.delete("new")
    assert list(branches.list()) == ["old"]


def test_restore_on_a_branch(table):
    branch = table.branches.create("dev")
    first = branch.version
    branch.delete("true")
    assert branch.count_rows() == 0
    branch.restore(first)
    assert branch.count_rows() == 10


def test_branches_are_compared(table):
    branch = table.branches.create("dev")
    branch.add_columns({"twice": "price * 2"})
    difference = table.branches.diff("dev")
    assert difference["addedColumns"] == [{"name": "twice", "dataType": "double", "nullable": True}]
    assert (difference["rowCountMain"], difference["rowCountBranch"]) == (10, 10)
    assert difference["errors"] == []
    preview = table.branches.cherry_pick("dev", dry_run=True)
    assert preview["preview"]["promotedColumns"] == ["twice"]
    assert table.schema.names == items(1).schema.names

    longer = table.branches.create("longer")
    longer.add(items(2, start=10))
    assert table.branches.diff("longer")["rowSummary"]["newOnBranch"] == 2
    refused = table.branches.cherry_pick("longer")
    assert refused["status"] == "failed"
    assert "rowsChanged" in [error["code"] for error in refused["diff"]["errors"]]
    with pytest.raises(Exception, match="not found|not exist"):
        table.branches.diff("nobody")
