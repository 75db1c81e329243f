"""Updates, merges, columns, versions, tags and branches through pylance's namespace client."""

import lance_namespace as ns
import pytest
from data import ipc_stream, items
from lance_namespace_urllib3_client import models


def test_namespace_updates_and_merges(rest, name):
    id = [name]
    rest.create_table(ns.CreateTableRequest(id=id), ipc_stream(items(10)))
    request = ns.UpdateTableRequest(id=id, predicate="id < 3", updates=[["price", "price + 1"]])
    assert rest.update_table(request).updated_rows == 3
    merge = ns.MergeInsertIntoTableRequest(
        id=id, on=["id"], when_matched_update_all=True, when_not_matched_insert_all=True
    )
    merged = rest.merge_insert_into_table(merge, ipc_stream(items(6, start=8)))
    assert (merged.num_updated_rows, merged.num_inserted_rows) == (2, 4)
    with pytest.raises(ns.TableColumnNotFoundError):
        rest.update_table(ns.UpdateTableRequest(id=id, updates=[["nope", "1"]]))


def test_namespace_changes_columns(rest, name):
    id = [name]
    rest.create_table(ns.CreateTableRequest(id=id), ipc_stream(items(10)))
    twice = models.AddColumnsEntry(name="twice", expression="price * 2")
    added = rest.alter_table_add_columns(
        ns.AlterTableAddColumnsRequest(id=id, new_columns=[twice])
    )
    assert added.version == 2
    rename = models.AlterColumnsEntry(path="twice", rename="double")
    rest.alter_table_alter_columns(ns.AlterTableAlterColumnsRequest(id=id, alterations=[rename]))
    dropped = rest.alter_table_drop_columns(
        ns.AlterTableDropColumnsRequest(id=id, columns=["double"])
    )
    assert dropped.version == 4


def test_namespace_changes_the_schema_metadata(rest, name):
    rest.create_table(ns.CreateTableRequest(id=[name]), ipc_stream(items(1)))
    request = ns.UpdateTableSchemaMetadataRequest(id=[name], metadata={"owner": "me"})
    assert rest.update_table_schema_metadata(request).metadata == {"owner": "me"}
    described = rest.describe_table(ns.DescribeTableRequest(id=[name]))
    assert described.var_schema.metadata == {"owner": "me"}


def test_namespace_registers_and_declares(rest, name):
    rest.create_table(ns.CreateTableRequest(id=[name]), ipc_stream(items(10)))
    kept = rest.deregister_table(ns.DeregisterTableRequest(id=[name]))
    assert kept.id == [name]
    with pytest.raises(ns.TableNotFoundError):
        rest.describe_table(ns.DescribeTableRequest(id=[name]))
    back = [f"{name}_back"]
    rest.register_table(ns.RegisterTableRequest(id=back, location=kept.location))
    assert rest.count_table_rows(ns.CountTableRowsRequest(id=back)).count == 10
    assert back[0] in rest.list_all_tables(ns.ListTablesRequest(limit=1000)).tables

    later = [f"{name}_later"]
    made = rest.declare_table(ns.DeclareTableRequest(id=later, properties={"a": "b"}))
    described = rest.describe_table(ns.DescribeTableRequest(id=later, check_declared=True))
    assert (described.is_only_declared, described.location) == (True, made.location)


def test_namespace_transactions(rest, name):
    made = rest.create_table(ns.CreateTableRequest(id=[name]), ipc_stream(items(10)))
    inserted = rest.insert_into_table(ns.InsertIntoTableRequest(id=[name]), ipc_stream(items(1)))
    id = [inserted.transaction_id]
    assert made.transaction_id not in id
    described = rest.describe_transaction(ns.DescribeTransactionRequest(id=id))
    assert described.status == "Succeeded"
    with pytest.raises(ns.TransactionNotFoundError):
        rest.describe_transaction(ns.DescribeTransactionRequest(id=["nobody"]))


def test_namespace_creates_versions(rest, name):
    rest.create_table(ns.CreateTableRequest(id=[name]), ipc_stream(items(10)))
    version = rest.describe_table_version({"id": [name], "version": 1})["version"]
    entry = {"id": [name], "version": 1, "manifest_path": version["manifest_path"]}
    assert rest.create_table_version(entry)["version"]["version"] == 1
    with pytest.raises(ns.InvalidInputError):
        rest.create_table_version({**entry, "version": 2, "manifest_path": "/etc/hostname"})


def test_namespace_versions_tags_and_branches(rest, name):
    id = [name]
    rest.create_table(ns.CreateTableRequest(id=id), ipc_stream(items(10)))
    append = ns.InsertIntoTableRequest(id=id, mode="append")
    rest.insert_into_table(append, ipc_stream(items(5, start=10)))

    listed = rest.list_table_versions(ns.ListTableVersionsRequest(id=id, descending=True))
    assert [version.version for version in listed.versions] == [2, 1]
    described = rest.describe_table_version({"id": id, "version": 1})["version"]
    assert described["manifest_path"] == listed.versions[1].manifest_path

    rest.create_table_tag(ns.CreateTableTagRequest(id=id, tag="first", version=1))
    with pytest.raises(ns.TableTagAlreadyExistsError):
        rest.create_table_tag(ns.CreateTableTagRequest(id=id, tag="first", version=1))
    assert rest.list_table_tags(ns.ListTableTagsRequest(id=id)).tags["first"].version == 1
    rest.update_table_tag(ns.UpdateTableTagRequest(id=id, tag="first", version=2))
    version = ns.GetTableTagVersionRequest(id=id, tag="first")
    assert rest.get_table_tag_version(version).version == 2
    rest.delete_table_tag(ns.DeleteTableTagRequest(id=id, tag="first"))
    with pytest.raises(ns.TableTagNotFoundError):
        rest.get_table_tag_version(version)

    rest.create_table_branch(ns.CreateTableBranchRequest(id=id, name="dev", from_version=1))
    with pytest.raises(ns.TableBranchAlreadyExistsError):
        rest.create_table_branch(ns.CreateTableBranchRequest(id=id, name="dev"))
    branches = rest.list_table_branches(ns.ListTableBranchesRequest(id=id)).branches
    assert branches["dev"].parent_version == 1
    count = ns.CountTableRowsRequest
    delete = ns.DeleteFromTableRequest(id=id, predicate="id < 5", branch="dev")
    rest.delete_from_table(delete)
    assert rest.count_table_rows(count(id=id)).count == 15
    rest.delete_table_branch(ns.DeleteTableBranchRequest(id=id, name="dev"))
    with pytest.raises(ns.TableBranchNotFoundError):
        rest.delete_table_branch(ns.DeleteTableBranchRequest(id=id, name="dev"))

    rest.restore_table(ns.RestoreTableRequest(id=id, version=1))
    assert rest.count_table_rows(count(id=id)).count == 10
    deletion = {"id": id, "ranges": [{"start_version": 0, "end_version": 2}]}
    assert rest.batch_delete_table_versions(deletion)["deleted_count"] == 1
