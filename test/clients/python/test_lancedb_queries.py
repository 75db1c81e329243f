"""`lancedb` 0.40 in remote mode: vector searches and plain queries with every option of the builder."""

from datetime import timedelta

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from data import DIMENSION, items, vector_of
from lancedb.expr import col, lit
from lancedb.index import HnswSq, IvfFlat
from lancedb.query import ColumnOrdering

ROWS = items(600)
VECTORS = np.array(ROWS["vector"].to_pylist(), dtype=np.float32)
WAIT = timedelta(seconds=60)


@pytest.fixture(scope="module")
def table(server):
    """600 rows, the first 500 of them in a vector index of 8 partitions."""
    database = lancedb.connect("db://joust", api_key=server.key, host_override=server.url)
    table = database.create_table("queried", ROWS.slice(0, 500))
    table.create_index("vector", config=IvfFlat(num_partitions=8), wait_timeout=WAIT)
    table.add(ROWS.slice(500))
    return table


def distances(row: int, metric: str = "l2") -> np.ndarray:
    near = VECTORS[row]
    if metric == "l2":
        return ((VECTORS - near) ** 2).sum(axis=1)
    if metric == "dot":
        return 1 - VECTORS @ near
    lengths = np.linalg.norm(VECTORS, axis=1) * np.linalg.norm(near)
    return 1 - (VECTORS @ near) / lengths


def nearest(row: int, count: int, metric: str = "l2", among=lambda id: True) -> list[int]:
    order = np.argsort(distances(row, metric), kind="stable")
    return [int(id) for id in order if among(id)][:count]


def found(query) -> list[int]:
    return query.to_arrow()["id"].to_pylist()


@pytest.mark.parametrize("near", [vector_of(ROWS, 42), VECTORS[42]], ids=["list", "numpy"])
def test_nearest(table, near):
    answer = table.search(near).nprobes(8).limit(5).to_arrow()
    assert answer["id"].to_pylist() == nearest(42, 5)
    assert answer["_distance"].to_pylist() == pytest.approx(np.sort(distances(42))[:5], abs=1e-5)
    assert answer.schema.field("_distance").type == pa.float32()
    assert answer.schema.names == [*ROWS.schema.names, "_distance"]
    # The default limit is 10.
    assert table.search(near).to_arrow().num_rows == 10


@pytest.mark.parametrize("metric", ["l2", "cosine", "dot"])
def test_metrics_without_an_index(table, metric):
    query = table.search(VECTORS[7]).distance_type(metric).bypass_vector_index().limit(6)
    answer = query.to_arrow()
    assert answer["id"].to_pylist() == nearest(7, 6, metric)
    expected = np.sort(distances(7, metric))[:6]
    assert answer["_distance"].to_pylist() == pytest.approx(expected, abs=1e-5)


def test_a_metric_other_than_the_index_has(table):
    assert found(table.search(VECTORS[7]).metric("cosine").limit(6)) == nearest(7, 6, "cosine")


def test_probes(table):
    near = VECTORS[3]
    one = found(table.search(near).nprobes(1).limit(20))
    assert one[0] == 3
    many = found(table.search(near).minimum_nprobes(2).maximum_nprobes(8).limit(20))
    assert len(many) == 20
    # Without an upper bound all partitions are searched if necessary to fill the result.
    every = found(table.search(near).minimum_nprobes(1).maximum_nprobes(0).limit(550))
    assert len(every) == 550
    assert found(table.search(near).nprobes(8).refine_factor(3).limit(20)) == nearest(3, 20)


def test_prefilter_and_postfilter(table):
    near = VECTORS[42]
    query = table.search(near).nprobes(8).where("category = 'c1'", prefilter=True).limit(5)
    assert found(query) == nearest(42, 5, among=lambda id: id % 5 == 1)
    after = found(table.search(near).nprobes(8).where("category = 'c1'", prefilter=False).limit(20))
    assert after == [id for id in nearest(42, 20) if id % 5 == 1]
    assert 0 < len(after) < 20


def test_filters_add_up_and_may_be_expressions(table):
    query = table.search(VECTORS[42]).nprobes(8).where("id < 300").where("category = 'c1'")
    expected = nearest(42, 4, among=lambda id: id < 300 and id % 5 == 1)
    assert found(query.limit(4)) == expected
    expression = (col("id") < lit(300)) & (col("category") == lit("c1"))
    assert found(table.search(VECTORS[42]).nprobes(8).where(expression).limit(4)) == expected


def test_columns(table):
    query = table.search(VECTORS[1]).limit(2)
    assert query.select(["name", "id"]).to_arrow().schema.names == ["name", "id", "_distance"]
    rows = query.select({"twice": "id * 2", "word": "upper(name)"}).to_list()
    assert [(row["twice"], row["word"]) for row in rows][0] == (2, "ITEM 1")
    assert set(rows[0]) == {"twice", "word", "_distance"}
    [row] = table.search().where("id = 4").select({"sum": col("price") + lit(1.0)}).to_list()
    assert row == {"sum": 3.0}


def test_limit_and_offset(table):
    query = lambda: table.search(VECTORS[9]).nprobes(8)  # noqa: E731
    assert found(query().limit(4).offset(3)) == nearest(9, 7)[3:]
    assert found(query().limit(4).offset(10_000)) == []


def test_distance_range(table):
    order = np.sort(distances(9))
    lower, upper = (float(order[at] + order[at + 1]) / 2 for at in (2, 7))
    query = lambda: table.search(VECTORS[9]).nprobes(8).limit(50)  # noqa: E731
    assert found(query().distance_range(lower, upper)) == nearest(9, 8)[3:]
    assert found(query().distance_range(upper_bound=upper)) == nearest(9, 8)
    assert found(query().distance_range(lower_bound=lower).limit(2)) == nearest(9, 5)[3:]


def test_fast_search_reads_the_index_only(table):
    near = VECTORS[550]
    assert found(table.search(near).nprobes(8).limit(5)) == nearest(550, 5)
    indexed = nearest(550, 5, among=lambda id: id < 500)
    assert found(table.search(near).nprobes(8).fast_search().limit(5)) == indexed


@pytest.mark.since("0.39")
def test_row_ids(table):
    answer = table.search(VECTORS[5]).with_row_id(True).limit(3).to_arrow()
    assert answer.schema.field("_rowid").type == pa.uint64()
    taken = table.take_row_ids(answer["_rowid"].to_pylist()).select(["id"]).to_arrow()
    assert sorted(taken["id"].to_pylist()) == sorted(answer["id"].to_pylist())
    again = table.take_offsets([7, 3, 7]).select(["id"]).to_arrow()
    assert sorted(again["id"].to_pylist()) == [3, 7, 7]


def test_several_query_vectors(table):
    answer = table.search([VECTORS[3], VECTORS[550]]).nprobes(8).limit(4).to_arrow()
    assert answer.schema.field("query_index").type == pa.int32()
    by_query = {0: [], 1: []}
    for row in answer.select(["query_index", "id"]).to_pylist():
        by_query[row["query_index"]].append(row["id"])
    assert by_query == {0: nearest(3, 4), 1: nearest(550, 4)}


def test_ef_of_a_graph_index(database, name):
    table = database.create_table(name, ROWS)
    config = HnswSq(num_partitions=1, m=16, ef_construction=100)
    table.create_index("vector", config=config, wait_timeout=WAIT)
    wide = set(found(table.search(VECTORS[42]).ef(300).limit(10)))
    assert len(wide & set(nearest(42, 10))) >= 9
    assert len(found(table.search(VECTORS[42]).ef(10).limit(10))) == 10


def test_plain_queries(table):
    assert found(table.search().where("id >= 590").select(["id"])) == list(range(590, 600))
    assert len(found(table.search())) == 600
    assert found(table.search().limit(3).offset(5)) == [5, 6, 7]
    with_id = table.search().select(["id"]).where("id = 3").with_row_id(True).to_arrow()
    assert with_id.schema.names == ["id", "_rowid"]
    assert table.head(4)["id"].to_pylist() == [0, 1, 2, 3]
    order = [
        ColumnOrdering(column_name="category", ascending=False, nulls_first=False),
        ColumnOrdering(column_name="id", ascending=True, nulls_first=True),
    ]
    query = table.search().where("id < 10").select(["id"]).order_by(order)
    assert found(query) == [4, 9, 3, 8, 2, 7, 1, 6, 0, 5]


def test_answers_in_batches_and_shapes(table):
    query = table.search(VECTORS[1]).limit(50)
    reader = query.to_batches(batch_size=10, timeout=WAIT)
    assert sum(batch.num_rows for batch in reader) == 50
    assert query.to_list()[0]["id"] == 1
    assert query.output_schema().names == query.to_arrow().schema.names


def test_plans(table):
    query = table.search(VECTORS[1]).where("category = 'c1'").limit(3)
    assert "ANNSubIndex" in query.explain_plan(verbose=True)
    analysis = query.analyze_plan()
    assert analysis.startswith("AnalyzeExec")
    assert "metrics=[output_rows=" in analysis
    assert "KNN" in table.search(VECTORS[1]).bypass_vector_index().limit(3).explain_plan()
    paged = table.search(VECTORS[1]).limit(3).offset(1).explain_plan()
    assert "GlobalLimitExec: skip=1, fetch=3" in paged


def test_binary_vectors_by_hamming_distance(database, name):
    rows = [{"id": id, "vector": [id, 0]} for id in range(8)]
    schema = pa.schema([("id", pa.int64()), ("vector", pa.list_(pa.uint8(), 2))])
    table = database.create_table(name, pa.Table.from_pylist(rows, schema=schema))
    answer = table.search([7, 0]).distance_type("hamming").limit(8).to_arrow()
    assert answer["id"][0].as_py() == 7
    assert answer["_distance"].to_pylist() == [0, 1, 1, 1, 2, 2, 2, 3]


def test_multivectors(database, name):
    """Late interaction: rows and query have several vectors each."""
    vector = pa.list_(pa.list_(pa.float32(), 2))
    schema = pa.schema([("id", pa.int64()), ("vector", vector)])
    rows = [
        {"id": 0, "vector": [[1.0, 0.0], [0.0, 1.0]]},
        {"id": 1, "vector": [[1.0, 0.0]]},
        {"id": 2, "vector": [[-1.0, 0.1], [-1.0, -0.1]]},
    ]
    table = database.create_table(name, pa.Table.from_pylist(rows, schema=schema))
    near = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    answer = table.search(near).distance_type("cosine").limit(3).to_arrow()
    assert answer["id"].to_pylist() == [0, 1, 2]
    assert "query_index" not in answer.schema.names


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda query: query.where("nope = 1"), "nope"),
        (lambda query: query.where("id ="), "400|parse|invalid"),
        (lambda query: query.select(["nope"]), "nope"),
        (lambda query: query.distance_type("hamming"), "hamming"),
    ],
    ids=["unknown column in a filter", "broken filter", "unknown column", "metric"],
)
def test_invalid_queries_are_rejected(table, spoil, said):
    with pytest.raises(Exception, match=said):
        spoil(table.search(VECTORS[1]).limit(3)).to_arrow()


def test_a_vector_of_another_dimension(table):
    with pytest.raises(Exception, match="dimension: 2"):
        table.search([1.0, 2.0]).to_arrow()
    with pytest.raises(Exception, match="nope"):
        table.search([0.0] * DIMENSION, vector_column_name="nope").to_arrow()
