"""The generated Python client: operations that change tables and their versions."""

import lance_namespace_urllib3_client as client
import pytest
from data import ipc_stream, items, read_ipc_file
from lance_namespace_urllib3_client import models
from lance_namespace_urllib3_client.exceptions import ApiException


@pytest.fixture
def api(server):
    with client.ApiClient(client.Configuration(host=server.url)) as api:
        api.set_default_header("x-api-key", server.key)
        yield api


@pytest.fixture
def table(api, name):
    """Ten rows; version 1."""
    client.DataApi(api).create_table(name, ipc_stream(items(10)))
    return name


def refused(status: int, code: int, call, *arguments, **parameters) -> None:
    with pytest.raises(ApiException) as failure:
        call(*arguments, **parameters)
    assert (failure.value.status, failure.value.data.code) == (status, code)


def ids(api, table: str) -> list[int]:
    request = models.QueryTableRequest(
        vector=models.QueryTableRequestVector(single_vector=[]),
        columns=models.QueryTableRequestColumns(column_names=["id"]),
        k=1000,
    )
    return sorted(read_ipc_file(client.DataApi(api).query_table(table, request))["id"].to_pylist())


def test_rows(api, table):
    data = client.DataApi(api)
    inserted = data.insert_into_table(table, ipc_stream(items(5, start=10)), mode="append")
    assert inserted.transaction_id
    update = models.UpdateTableRequest(predicate="id < 3", updates=[["name", "upper(name)"]])
    updated = data.update_table(table, update)
    assert (updated.updated_rows, updated.version) == (3, 3)
    refused(404, 12, data.update_table, table, models.UpdateTableRequest(updates=[["no", "1"]]))
    data.delete_from_table(table, models.DeleteFromTableRequest(predicate="id = 14"))
    count = models.CountTableRowsRequest(predicate="name like 'ITEM%'")
    assert data.count_table_rows(table, count) == 3
    assert ids(api, table) == list(range(14))
    data.insert_into_table(table, ipc_stream(items(2)), mode="overwrite")
    assert ids(api, table) == [0, 1]


def test_merges(api, table):
    data = client.DataApi(api)
    merged = data.merge_insert_into_table(
        table,
        ["id"],
        ipc_stream(items(4, start=8)),
        when_matched_update_all=True,
        when_matched_update_all_filt="target.id > 8",
        when_not_matched_insert_all=True,
        when_not_matched_by_source_delete=True,
        when_not_matched_by_source_delete_filt="id < 2",
        timeout="60s",
        use_index=False,
    )
    counts = (merged.num_updated_rows, merged.num_inserted_rows, merged.num_deleted_rows)
    assert counts == (1, 2, 2)
    assert merged.version == 2
    assert ids(api, table) == list(range(2, 12))
    two = data.merge_insert_into_table(
        table, ["id", "name"], ipc_stream(items(3, start=10)), when_not_matched_insert_all=True
    )
    assert two.num_inserted_rows == 1
    refused(404, 12, data.merge_insert_into_table, table, ["nope"], ipc_stream(items(1)))


def test_columns(api, table):
    metadata = client.MetadataApi(api)
    add = models.AlterTableAddColumnsRequest(
        new_columns=[models.AddColumnsEntry(name="twice", expression="price * 2")]
    )
    assert client.DataApi(api).alter_table_add_columns(table, add).version == 2
    alter = models.AlterTableAlterColumnsRequest(
        alterations=[
            models.AlterColumnsEntry(path="twice", rename="double", data_type={"type": "float32"})
        ]
    )
    assert metadata.alter_table_alter_columns(table, alter).version == 3
    described = metadata.describe_table(table, models.DescribeTableRequest())
    [double] = [field for field in described.var_schema.fields if field.name == "double"]
    assert double.type.type == "float32"
    drop = models.AlterTableDropColumnsRequest(columns=["double"])
    assert metadata.alter_table_drop_columns(table, drop).version == 4
    refused(404, 12, metadata.alter_table_drop_columns, table, drop)


def test_metadata(api, table):
    metadata = client.MetadataApi(api)
    entry = models.UpdateFieldMetadataEntry(path="price", metadata={"unit": "EUR"})
    request = models.UpdateFieldMetadataRequest(updates=[entry])
    assert metadata.update_field_metadata(table, request).fields == {"price": {"unit": "EUR"}}
    assert metadata.update_table_schema_metadata(table, {"owner": "me"}) == {"owner": "me"}
    assert metadata.update_table_schema_metadata(table, {"team": "us"}) == {"team": "us"}
    described = metadata.describe_table(table, models.DescribeTableRequest())
    assert described.var_schema.metadata == {"team": "us"}
    stats = metadata.get_table_stats(table, models.GetTableStatsRequest())
    assert (stats.num_rows, stats.num_indices) == (10, 0)


def test_versions(api, table):
    client.DataApi(api).insert_into_table(table, ipc_stream(items(5, start=10)))
    metadata = client.MetadataApi(api)
    listed = metadata.list_table_versions(table, descending=True).versions
    assert [version.version for version in listed] == [2, 1]
    page = metadata.list_table_versions(table, limit=1)
    rest = metadata.list_table_versions(table, page_token=page.page_token)
    assert [entry.version for entry in page.versions + rest.versions] == [1, 2]
    described = metadata.describe_table_version(
        table, models.DescribeTableVersionRequest(version=1)
    ).version
    assert described.manifest_path == listed[1].manifest_path
    assert described.manifest_size > 0
    metadata.restore_table(table, models.RestoreTableRequest(version=1))
    assert ids(api, table) == list(range(10))
    ranges = [models.VersionRange(start_version=1, end_version=2)]
    deletion = models.BatchDeleteTableVersionsRequest(ranges=ranges)
    assert metadata.batch_delete_table_versions(table, deletion).deleted_count == 1
    missing = models.DescribeTableVersionRequest(version=1)
    refused(404, 11, metadata.describe_table_version, table, missing)


def test_tags(api, table):
    client.DataApi(api).insert_into_table(table, ipc_stream(items(5, start=10)))
    tags = client.TagApi(api)
    create = models.CreateTableTagRequest(tag="first", version=1)
    tags.create_table_tag(table, create)
    refused(409, 9, tags.create_table_tag, table, create)
    missing = models.CreateTableTagRequest(tag="new", version=99)
    refused(404, 11, tags.create_table_tag, table, missing)
    listed = tags.list_table_tags(table).tags
    assert {name: tag.version for name, tag in listed.items()} == {"first": 1}
    tags.update_table_tag(table, models.UpdateTableTagRequest(tag="first", version=2))
    get = models.GetTableTagVersionRequest(tag="first")
    assert tags.get_table_tag_version(table, get).version == 2
    tags.delete_table_tag(table, models.DeleteTableTagRequest(tag="first"))
    refused(404, 8, tags.get_table_tag_version, table, get)


def test_branches(api, table):
    branches = client.BranchApi(api)
    branches.create_table_branch(table, models.CreateTableBranchRequest(name="dev", from_version=1))
    again = models.CreateTableBranchRequest(name="dev")
    refused(409, 23, branches.create_table_branch, table, again)
    assert branches.list_table_branches(table).branches["dev"].parent_version == 1
    data = client.DataApi(api)
    data.delete_from_table(table, models.DeleteFromTableRequest(predicate="id < 5", branch="dev"))
    assert data.count_table_rows(table, models.CountTableRowsRequest(branch="dev")) == 5
    assert data.count_table_rows(table, models.CountTableRowsRequest()) == 10
    delete = models.DeleteTableBranchRequest(name="dev")
    branches.delete_table_branch(table, delete)
    refused(404, 22, branches.delete_table_branch, table, delete)
