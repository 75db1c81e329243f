"""pylance 14's REST namespace (the Rust client of `lance-namespace`) against a running joust."""

import lance_namespace as ns
import pytest
from data import ipc_stream, items, read_ipc_file, vector_of
from index_builds import wait_for_indexes
from lance_namespace_urllib3_client import models


@pytest.fixture
def rows():
    return items(300)


@pytest.fixture
def table(rest, name, rows):
    rest.create_table(ns.CreateTableRequest(id=[name], mode="Create"), ipc_stream(rows))
    return [name]


def query(rest, table, **fields):
    fields.setdefault("vector", models.QueryTableRequestVector(single_vector=[]))
    answer = rest.query_table(models.QueryTableRequest(id=table, **fields))
    return read_ipc_file(answer.data)


def test_namespaces(rest, name):
    rest.create_namespace(ns.CreateNamespaceRequest(id=[name], properties={"team": "search"}))
    with pytest.raises(ns.NamespaceAlreadyExistsError):
        rest.create_namespace(ns.CreateNamespaceRequest(id=[name]))
    rest.create_namespace(ns.CreateNamespaceRequest(id=[name, "inner"]))
    assert name in rest.list_namespaces(ns.ListNamespacesRequest(id=[])).namespaces
    assert rest.list_namespaces(ns.ListNamespacesRequest(id=[name])).namespaces == ["inner"]
    described = rest.describe_namespace(ns.DescribeNamespaceRequest(id=[name]))
    assert described.properties["team"] == "search"
    rest.namespace_exists(ns.NamespaceExistsRequest(id=[name]))
    with pytest.raises(ns.NamespaceNotEmptyError):
        rest.drop_namespace(ns.DropNamespaceRequest(id=[name]))
    rest.drop_namespace(ns.DropNamespaceRequest(id=[name], behavior="Cascade"))
    with pytest.raises(ns.NamespaceNotFoundError):
        rest.describe_namespace(ns.DescribeNamespaceRequest(id=[name]))


def test_table_lifecycle(rest, name, rows):
    rest.create_namespace(ns.CreateNamespaceRequest(id=[name]))
    id = [name, "life"]
    made = rest.create_table(ns.CreateTableRequest(id=id), ipc_stream(rows))
    assert made.version == 1
    with pytest.raises(ns.TableAlreadyExistsError):
        rest.create_table(ns.CreateTableRequest(id=id), ipc_stream(rows))
    overwritten = ns.CreateTableRequest(id=id, mode="Overwrite")
    assert rest.create_table(overwritten, ipc_stream(items(7))).version == 2
    assert rest.count_table_rows(ns.CountTableRowsRequest(id=id)).count == 7

    rest.table_exists(ns.TableExistsRequest(id=id))
    assert rest.list_tables(ns.ListTablesRequest(id=[name])).tables == ["life"]
    described = rest.describe_table(ns.DescribeTableRequest(id=id))
    assert described.version == 2
    assert [field.name for field in described.var_schema.fields] == rows.schema.names

    rest.rename_table(ns.RenameTableRequest(id=id, new_table_name="after"))
    rest.drop_table(ns.DropTableRequest(id=[name, "after"]))
    with pytest.raises(ns.TableNotFoundError):
        rest.table_exists(ns.TableExistsRequest(id=id))


def test_rows(rest, table):
    append = ns.InsertIntoTableRequest(id=table, mode="append")
    rest.insert_into_table(append, ipc_stream(items(50, start=300)))
    count = ns.CountTableRowsRequest
    assert rest.count_table_rows(count(id=table)).count == 350
    assert rest.count_table_rows(count(id=table, predicate="price < 5")).count == 10
    rest.delete_from_table(ns.DeleteFromTableRequest(id=table, predicate="id < 100"))
    assert rest.count_table_rows(count(id=table)).count == 250
    assert rest.get_table_stats(ns.GetTableStatsRequest(id=table)).num_rows == 250


def test_queries(rest, table, rows):
    near = models.QueryTableRequestVector(single_vector=vector_of(rows, 42))
    found = query(rest, table, vector=near, k=5)
    assert found["id"][0].as_py() == 42
    found = query(rest, table, vector=near, k=5, filter="category = 'c1'", prefilter=True)
    assert found.num_rows == 5
    assert set(found["category"].to_pylist()) == {"c1"}

    two = [vector_of(rows, 3), vector_of(rows, 4)]
    both = models.QueryTableRequestVector(multi_vector=two)
    found = query(rest, table, vector=both, k=1)
    assert sorted(found["id"].to_pylist()) == [3, 4]


def test_plans(rest, table, rows):
    near = models.QueryTableRequestVector(single_vector=vector_of(rows, 1))
    request = models.QueryTableRequest(id=table, vector=near, k=3)
    plan = rest.explain_table_query_plan(
        ns.ExplainTableQueryPlanRequest(id=table, query=request)
    )
    assert "KNN" in str(plan)
    analysis = rest.analyze_table_query_plan(
        ns.AnalyzeTableQueryPlanRequest(id=table, vector=near, k=3)
    )
    assert "output_rows" in str(analysis)


def test_indexes(rest, table):
    create = ns.CreateTableIndexRequest
    rest.create_table_scalar_index(create(id=table, column="id", index_type="BTREE"))
    rest.create_table_index(
        create(id=table, column="vector", index_type="IVF_FLAT", distance_type="l2")
    )
    list_request = ns.ListTableIndicesRequest(id=table)
    listing = wait_for_indexes(lambda: rest.list_table_indices(list_request).indexes, 2)
    named = next(index.index_name for index in listing if index.columns == ["id"])
    stats = rest.describe_table_index_stats(
        ns.DescribeTableIndexStatsRequest(id=table, index_name=named)
    )
    assert stats.num_indexed_rows == 300
    rest.drop_table_index(ns.DropTableIndexRequest(id=table, index_name=named))
    assert len(rest.list_table_indices(list_request).indexes) == 1
    with pytest.raises(ns.TableIndexNotFoundError):
        rest.drop_table_index(ns.DropTableIndexRequest(id=table, index_name=named))
