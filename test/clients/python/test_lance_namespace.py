"""The generated Python client, `lance_namespace_urllib3_client` 0.13, against a running joust."""

import lance_namespace_urllib3_client as client
import pytest
from data import ipc_stream, items, read_ipc_file, vector_of
from index_builds import wait_for_indexes
from lance_namespace_urllib3_client import models
from lance_namespace_urllib3_client.exceptions import ApiException, NotFoundException


@pytest.fixture
def api(server):
    with client.ApiClient(client.Configuration(host=server.url, access_token=server.key)) as api:
        api.set_default_header("Authorization", f"Bearer {server.key}")
        yield api


@pytest.fixture
def tables(api):
    return client.TableApi(api)


@pytest.fixture
def namespaces(api):
    return client.NamespaceApi(api)


@pytest.fixture
def rows():
    return items(300)


@pytest.fixture
def table(tables, name, rows):
    tables.create_table(name, ipc_stream(rows))
    return name


def query(tables, table, **fields) -> "pa.Table":
    fields.setdefault("vector", models.QueryTableRequestVector(single_vector=[]))
    return read_ipc_file(tables.query_table(table, models.QueryTableRequest(**fields)))


def near(rows, row):
    return models.QueryTableRequestVector(single_vector=vector_of(rows, row))


def test_namespaces(namespaces, name):
    create = models.CreateNamespaceRequest
    made = namespaces.create_namespace(name, create(properties={"team": "search"}))
    assert made.properties["team"] == "search"
    with pytest.raises(ApiException) as conflict:
        namespaces.create_namespace(name, create())
    assert conflict.value.status == 409
    assert conflict.value.data.code == 2
    namespaces.create_namespace(name, create(mode="ExistOk"))
    namespaces.create_namespace(f"{name}$inner", create())

    assert name in namespaces.list_namespaces("$").namespaces
    assert namespaces.list_namespaces(name).namespaces == ["inner"]
    described = namespaces.describe_namespace(name, models.DescribeNamespaceRequest())
    assert described.properties["team"] == "search"
    namespaces.namespace_exists(name, models.NamespaceExistsRequest())

    with pytest.raises(ApiException) as not_empty:
        namespaces.drop_namespace(name, models.DropNamespaceRequest())
    assert not_empty.value.data.code == 3
    namespaces.drop_namespace(name, models.DropNamespaceRequest(behavior="Cascade"))
    with pytest.raises(NotFoundException):
        namespaces.namespace_exists(name, models.NamespaceExistsRequest())


def test_table_lifecycle(tables, namespaces, name, rows):
    namespaces.create_namespace(name, models.CreateNamespaceRequest())
    id = f"{name}$life"
    made = tables.create_table(id, ipc_stream(rows), properties='{"owner": "ann"}')
    assert made.version == 1
    assert made.properties["owner"] == "ann"
    tables.table_exists(id, models.TableExistsRequest())
    assert namespaces.list_tables(name).tables == ["life"]
    assert id in tables.list_all_tables().tables

    described = tables.describe_table(id, models.DescribeTableRequest())
    assert [field.name for field in described.var_schema.fields] == rows.schema.names
    assert described.location

    tables.rename_table(id, models.RenameTableRequest(new_table_name="after"))
    assert namespaces.list_tables(name).tables == ["after"]
    tables.drop_table(f"{name}$after")
    with pytest.raises(NotFoundException) as gone:
        tables.describe_table(f"{name}$after", models.DescribeTableRequest())
    assert gone.value.data.code == 4


def test_rows(tables, table):
    tables.insert_into_table(table, ipc_stream(items(50, start=300)))
    assert tables.count_table_rows(table, models.CountTableRowsRequest()) == 350
    first = models.CountTableRowsRequest(version=1)
    assert tables.count_table_rows(table, first) == 300
    cheap = models.CountTableRowsRequest(predicate="price < 5")
    assert tables.count_table_rows(table, cheap) == 10

    tables.delete_from_table(table, models.DeleteFromTableRequest(predicate="id < 100"))
    assert tables.count_table_rows(table, models.CountTableRowsRequest()) == 250
    stats = tables.get_table_stats(table, models.GetTableStatsRequest())
    assert stats.num_rows == 250
    assert stats.total_bytes > 0
    assert stats.fragment_stats.num_fragments == 2


def test_queries(tables, table, rows):
    found = query(tables, table, vector=near(rows, 42), k=5)
    assert found["id"][0].as_py() == 42
    assert found["_distance"][0].as_py() == pytest.approx(0, abs=1e-6)
    assert found.num_rows == 5

    columns = models.QueryTableRequestColumns(column_names=["id", "category"])
    found = query(
        tables, table, vector=near(rows, 42), k=5, filter="category = 'c1'", columns=columns
    )
    assert set(found["category"].to_pylist()) == {"c1"}

    aliases = models.QueryTableRequestColumns(column_aliases={"double": "price * 2"})
    found = query(tables, table, k=3, filter="id >= 10", columns=aliases, with_row_id=True)
    assert found["double"].to_pylist() == [10, 11, 12]
    assert "_rowid" in found.schema.names

    found = query(tables, table, k=2, offset=2, filter="id < 5")
    assert found["id"].to_pylist() == [2, 3]


def test_plans(tables, table, rows):
    request = models.QueryTableRequest(vector=near(rows, 1), k=3, filter="id > 7")
    plan = tables.explain_table_query_plan(
        table, models.ExplainTableQueryPlanRequest(query=request)
    )
    assert "KNN" in plan
    analysis = tables.analyze_table_query_plan(
        table, models.AnalyzeTableQueryPlanRequest(vector=near(rows, 1), k=3)
    )
    assert "output_rows" in analysis


def test_indexes(tables, table, rows):
    create = models.CreateTableIndexRequest
    tables.create_table_scalar_index(table, create(column="id", index_type="BTREE"))
    tables.create_table_scalar_index(table, create(column="category", index_type="BITMAP"))
    tables.create_table_index(
        table,
        create(column="vector", index_type="IVF_FLAT", distance_type="l2", num_partitions=4),
    )
    listing = wait_for_indexes(
        lambda: tables.list_table_indices(table, models.ListTableIndicesRequest()).indexes, 3
    )
    columns = {index.columns[0]: index for index in listing}
    assert set(columns) == {"id", "category", "vector"}

    named = columns["id"].index_name
    stats = tables.describe_table_index_stats(
        table, named, models.DescribeTableIndexStatsRequest()
    )
    assert stats.index_type == "BTREE"
    assert (stats.num_indexed_rows, stats.num_unindexed_rows) == (300, 0)
    found = query(tables, table, vector=near(rows, 9), k=1, nprobes=4)
    assert found["id"].to_pylist() == [9]

    tables.drop_table_index(table, named)
    left = tables.list_table_indices(table, models.ListTableIndicesRequest()).indexes
    assert len(left) == 2


@pytest.fixture
def transactions(api):
    return client.TransactionApi(api)


def test_registration(tables, table, name):
    kept = tables.deregister_table(table, models.DeregisterTableRequest())
    assert kept.id == [table]
    with pytest.raises(NotFoundException):
        tables.describe_table(table, models.DescribeTableRequest())
    back = f"{name}_back"
    request = models.RegisterTableRequest(location=kept.location, properties={"a": "b"})
    assert tables.register_table(back, request).properties["a"] == "b"
    assert tables.count_table_rows(back, models.CountTableRowsRequest()) == 300
    with pytest.raises(ApiException) as conflict:
        tables.register_table(back, request)
    assert conflict.value.data.code == 5


def test_declared_table(tables, name, rows):
    made = tables.declare_table(name, models.DeclareTableRequest(properties={"a": "b"}))
    described = tables.describe_table(name, models.DescribeTableRequest(check_declared=True))
    assert described.is_only_declared
    assert described.version is None
    assert described.location == made.location
    assert name not in tables.list_all_tables(include_declared=False).tables
    tables.insert_into_table(name, ipc_stream(rows))
    described = tables.describe_table(name, models.DescribeTableRequest(check_declared=True))
    assert (described.version, described.is_only_declared) == (1, False)


def test_transactions(tables, transactions, table, rows):
    id = tables.insert_into_table(table, ipc_stream(rows)).transaction_id
    described = transactions.describe_transaction(id, models.DescribeTransactionRequest())
    assert described.status == "Succeeded"
    put = models.AlterTransactionSetProperty(key="team", value="search", mode="Fail")
    action = models.AlterTransactionAction(set_property_action=put)
    altered = transactions.alter_transaction(id, models.AlterTransactionRequest(actions=[action]))
    assert altered.properties["team"] == "search"
    with pytest.raises(ApiException) as refused:
        transactions.alter_transaction(id, models.AlterTransactionRequest(actions=[action]))
    assert refused.value.data.code == 13
    with pytest.raises(NotFoundException) as unknown:
        transactions.describe_transaction("nobody", models.DescribeTransactionRequest())
    assert unknown.value.data.code == 10


def test_versions_made_by_clients(tables, transactions, table, name):
    described = tables.describe_table_version(table, models.DescribeTableVersionRequest(version=1))
    path = described.version.manifest_path
    again = models.CreateTableVersionRequest(version=1, manifest_path=path)
    assert tables.create_table_version(table, again).version.version == 1
    entry = models.CreateTableVersionEntry(id=[table], version=1, manifest_path=path)
    batch = models.BatchCreateTableVersionsRequest(entries=[entry])
    assert tables.batch_create_table_versions(batch).versions[0].manifest_path == path
    wrong = models.CreateTableVersionRequest(version=2, manifest_path="/etc/hostname")
    with pytest.raises(ApiException) as refused:
        tables.create_table_version(table, wrong)
    assert refused.value.data.code == 13

    steps = [
        models.CommitTableOperation(
            declare_table=models.DeclareTableRequest(id=[f"{name}_new"]),
        ),
        models.CommitTableOperation(deregister_table=models.DeregisterTableRequest(id=[table])),
    ]
    request = models.BatchCommitTablesRequest(operations=steps)
    results = transactions.batch_commit_tables(request).results
    assert results[0].declare_table.location
    assert results[1].deregister_table.id == [table]


def test_errors_carry_the_contract_code(tables, table):
    with pytest.raises(ApiException) as bad:
        query(tables, table, k=1, filter="no_such_column = 1")
    assert bad.value.status in (400, 404)
    assert bad.value.data.code in (12, 13)
    with pytest.raises(ApiException) as missing:
        tables.describe_table_index_stats(
            table, "no_such_index", models.DescribeTableIndexStatsRequest()
        )
    assert (missing.value.status, missing.value.data.code) == (404, 6)


def test_a_wrong_key_is_rejected(server, table):
    configuration = client.Configuration(host=server.url)
    with client.ApiClient(configuration) as api:
        api.set_default_header("Authorization", "Bearer joust_wrong")
        with pytest.raises(ApiException) as refused:
            client.TableApi(api).count_table_rows(table, models.CountTableRowsRequest())
    assert refused.value.status == 401
