"""Views and backfills through pylance's namespace client; the LanceDB SDK waits for their jobs."""

import base64

import lance_namespace as ns
import pytest
from data import ipc_stream, items
from rows import ids, values


def test_a_view(rest, database, table, name):
    view = [f"view_of_{name}"]
    schema = items(1).schema
    request = ns.CreateMaterializedViewRequest(
        id=view,
        kind="query",
        source_query=f"SELECT * FROM {name} WHERE id < 5",
        output_schema=base64.b64encode(ipc_stream(schema.empty_table())).decode(),
    )
    assert rest.create_materialized_view(request).version == 1
    with pytest.raises(ns.TableAlreadyExistsError):
        rest.create_materialized_view(request)
    job = rest.refresh_materialized_view(ns.RefreshMaterializedViewRequest(id=view)).job_id
    database.open_job(job).wait()
    assert ids(database.open_table(view[0])) == [0, 1, 2, 3, 4]
    assert rest.count_table_rows(ns.CountTableRowsRequest(id=view)).count == 5


def test_a_backfill(rest, database, table, name):
    table.add_columns(computed={"twice": "price * 2"})
    request = ns.AlterTableBackfillColumnsRequest(id=[name], column="twice")
    database.open_job(rest.alter_table_backfill_columns(request).job_id).wait()
    assert values(table, "twice") == {id: float(id) for id in range(10)}
