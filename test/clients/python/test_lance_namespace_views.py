"""Views and backfills through the generated Python client; the LanceDB SDK waits for their jobs."""

import base64

import lance_namespace_urllib3_client as client
import pyarrow as pa
import pytest
from data import ipc_stream, items
from lance_namespace_urllib3_client import models
from lance_namespace_urllib3_client.exceptions import ApiException
from rows import ids, values


@pytest.fixture
def api(server):
    with client.ApiClient(client.Configuration(host=server.url)) as api:
        api.set_default_header("Authorization", f"Bearer {server.key}")
        yield api


def schema_text(schema: pa.Schema) -> str:
    return base64.b64encode(ipc_stream(schema.empty_table())).decode()


def test_a_view(api, database, table, name):
    views = client.MaterializedViewApi(api)
    schema = pa.schema([("id", pa.int64()), ("twice", pa.float64())])
    request = models.CreateMaterializedViewRequest(
        kind="query",
        source_query=f"SELECT id, price * 2 AS twice FROM {name} WHERE id < 5",
        output_schema=schema_text(schema),
    )
    view = f"view_of_{name}"
    made = views.create_materialized_view(view, request)
    assert (made.version, made.job_id) == (1, None)
    assert ids(database.open_table(view)) == []
    with pytest.raises(ApiException) as taken:
        views.create_materialized_view(view, request)
    assert (taken.value.status, taken.value.data.code) == (409, 5)

    def refresh(**wanted) -> None:
        request = models.RefreshMaterializedViewRequest(**wanted)
        started = views.refresh_materialized_view(view, refresh_materialized_view_request=request)
        database.open_job(started.job_id).wait()

    refresh()
    assert values(database.open_table(view), "twice") == {id: float(id) for id in range(5)}

    table.delete("id = 0")
    refresh(src_version=1, max_rows_per_fragment=2, concurrency=1)
    assert ids(database.open_table(view)) == [0, 1, 2, 3, 4]
    refresh()
    assert ids(database.open_table(view)) == [1, 2, 3, 4]


def test_a_view_that_is_filled_at_once(api, database, table, name):
    request = models.CreateMaterializedViewRequest(
        kind="query",
        source_query=f"SELECT * FROM {name}",
        output_schema=schema_text(items(1).schema),
        with_no_data=False,
    )
    made = client.MaterializedViewApi(api).create_materialized_view(f"view_of_{name}", request)
    database.open_job(made.job_id).wait()
    assert ids(database.open_table(f"view_of_{name}")) == list(range(10))


def test_a_backfill(api, database, table, name):
    table.add_columns(computed={"twice": "price * 2"})
    data = client.DataApi(api)
    some = models.AlterTableBackfillColumnsRequest(column="twice", where="id < 5", concurrency=2)
    database.open_job(data.alter_table_backfill_columns(name, some).job_id).wait()
    assert values(table, "twice")[4] == 4.0
    assert values(table, "twice")[5] is None
    every = models.AlterTableBackfillColumnsRequest(column="twice")
    database.open_job(data.alter_table_backfill_columns(name, every).job_id).wait()
    assert values(table, "twice") == {id: float(id) for id in range(10)}
    plain = models.AlterTableBackfillColumnsRequest(column="price")
    with pytest.raises(ApiException) as refused:
        data.alter_table_backfill_columns(name, plain)
    assert (refused.value.status, refused.value.data.code) == (400, 13)
