"""`lancedb` 0.40 in remote mode: computed columns are refreshed, views are created and refreshed."""

import pytest
from data import items
from rows import ids, values


@pytest.mark.since("0.39")
def test_a_computed_column_is_refreshed(table):
    table.add_columns(computed={"twice": "price * 2"})
    job = table.refresh_column_async("twice")
    result = job.wait()
    assert (result.rows_assigned, result.rows_failed, result.rows_remaining) == (10, 0, 0)
    assert (result.source_version, result.published_version) == (2, 3)
    assert job.job_type == "backfill" or job.refresh() is None
    assert values(table, "twice") == {row: float(row) for row in range(10)}
    with pytest.raises(Exception, match="not a computed column"):
        table.refresh_column_async("price")


@pytest.mark.since("0.40")
def test_rows_that_fail_are_listed(table):
    table.add_columns(computed={"ratio": "10 / id"})
    result = table.refresh_column_async("ratio").wait()
    assert (result.rows_assigned, result.rows_failed) == (9, 1)
    errors = table.function_errors(column="ratio")
    assert [(one.row_offset, one.error_message) for one in errors.records] == [
        (0, "Divide by zero error")
    ]
    assert [(one.fragment_id, one.rows_skipped) for one in errors.fragments] == [(0, 1)]
    assert not errors.truncated
    assert values(table, "ratio")[0] is None


@pytest.mark.since("0.40")
def test_a_view_is_created_refreshed_and_dropped(database, table, name):
    view = f"view_of_{name}"
    created = database.create_materialized_view(
        view, name, select={"id": "id", "twice": "price * 2"}, where="id < 5"
    )
    assert ids(created.table) == [0, 1, 2, 3, 4]
    assert values(created.table, "twice")[3] == 3.0
    assert created.definition.query == f"SELECT id, price * 2 AS twice FROM {name} WHERE id < 5"
    table.add(items(1, start=-1))
    result = database.open_materialized_view(view).refresh()
    assert (result.mode, result.rows_written, result.source_version) == ("incremental", 1, 2)
    assert result.version == created.table.version
    assert ids(created.table) == [-1, 0, 1, 2, 3, 4]
    pinned = created.refresh(source_version=1, full=True)
    assert (pinned.rows_written, pinned.source_version) == (5, 1)
    with pytest.raises(Exception, match="materialized view"):
        created.table.delete("true")
    assert view in database.list_materialized_views()
    database.drop_materialized_view(view)
    assert view not in database.list_materialized_views()
    assert table.count_rows() == 11


@pytest.mark.since("0.40")
def test_a_view_without_data_waits_for_its_refresh(database, table, name):
    view = database.create_materialized_view(f"empty_{name}", name, with_no_data=True)
    assert view.table.count_rows() == 0
    view.refresh_async().wait()
    assert view.table.count_rows() == 10
    database.create_materialized_view_async(f"later_{name}", name).wait()
    assert database.open_table(f"later_{name}").count_rows() == 10
    with pytest.raises(Exception, match="nope"):
        database.create_materialized_view(f"bad_{name}", name, select=["nope"])
