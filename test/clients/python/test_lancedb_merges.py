"""`lancedb` 0.40 in remote mode: every form of `merge_insert`."""

from datetime import timedelta

import pyarrow as pa
import pytest
from data import items
from rows import ids, values


def test_upsert(table):
    merged = (
        table.merge_insert("id")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute(items(6, start=8))
    )
    assert (merged.num_updated_rows, merged.num_inserted_rows, merged.num_deleted_rows) == (2, 4, 0)
    assert merged.version == 2
    assert merged.num_attempts == 1
    assert ids(table) == list(range(14))


def test_insert_unmatched_rows(table):
    new = items(4, start=8).set_column(1, "name", pa.array(["new"] * 4))
    merged = table.merge_insert("id").when_not_matched_insert_all().execute(new)
    assert (merged.num_updated_rows, merged.num_inserted_rows) == (0, 2)
    assert table.count_rows("name = 'new'") == 2


def test_update_matched_rows(table):
    new = items(4, start=8).set_column(1, "name", pa.array(["new"] * 4))
    merged = table.merge_insert("id").when_matched_update_all().execute(new)
    assert (merged.num_updated_rows, merged.num_inserted_rows) == (2, 0)
    assert [id for id, word in values(table, "name").items() if word == "new"] == [8, 9]


def test_update_under_a_condition(table):
    new = items(10).set_column(3, "price", pa.array([3.0] * 10))
    merge = table.merge_insert("id").when_matched_update_all(where="target.price < source.price")
    assert merge.execute(new).num_updated_rows == 6
    assert values(table, "price")[0] == 3.0
    assert values(table, "price")[9] == 4.5


def test_delete_rows_missing_in_the_source(table):
    merge = table.merge_insert("id").when_not_matched_by_source_delete("id < 5")
    merged = merge.execute(items(2))
    assert (merged.num_deleted_rows, merged.num_updated_rows) == (3, 0)
    assert ids(table) == [0, 1, *range(5, 10)]


def test_replace_the_table(table):
    merge = (
        table.merge_insert("id")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .when_not_matched_by_source_delete()
    )
    merged = merge.execute(items(3, start=9))
    assert (merged.num_updated_rows, merged.num_inserted_rows, merged.num_deleted_rows) == (1, 2, 9)
    assert ids(table) == [9, 10, 11]


@pytest.mark.since("0.39")
def test_merge_on_two_columns(table):
    new = items(2, start=9).set_column(1, "name", pa.array(["item 9", "item x"]))
    merge = table.merge_insert(["id", "name"]).when_not_matched_insert_all()
    assert merge.execute(new).num_inserted_rows == 1
    assert ids(table) == list(range(11))


def test_merge_with_a_timeout_and_without_an_index(table):
    merge = table.merge_insert("id").when_not_matched_insert_all().use_index(False)
    assert merge.execute(items(2, start=9), timeout=timedelta(seconds=60)).num_inserted_rows == 1
    assert table.count_rows() == 11


def test_invalid_merges_are_rejected(table):
    with pytest.raises(Exception, match="nope"):
        table.merge_insert("nope").when_not_matched_insert_all().execute(items(1))
    twice = pa.concat_tables([items(1), items(1)])
    with pytest.raises(Exception, match="[Aa]mbiguous|more than one|several"):
        table.merge_insert("id").when_matched_update_all().execute(twice)
    assert (table.version, table.count_rows()) == (1, 10)
