"""`lancedb` 0.40 in remote mode: every kind of index that the client supports."""

from datetime import timedelta

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from data import DIMENSION, items
from lancedb.index import (
    FTS,
    Bitmap,
    BTree,
    Fm,
    HnswFlat,
    HnswSq,
    IvfFlat,
    IvfPq,
    IvfRq,
    IvfSq,
    LabelList,
)

ROWS = items(600)
VECTORS = np.array(ROWS["vector"].to_pylist(), dtype=np.float32)
WAIT = timedelta(seconds=120)


@pytest.fixture(scope="module")
def table(server):
    database = lancedb.connect("db://joust", api_key=server.key, host_override=server.url)
    tags = pa.array([[f"t{id % 3}", f"u{id % 7}"] for id in range(600)])
    return database.create_table("indexed", ROWS.append_column("tags", tags))


def nearest(row: int, metric: str) -> int:
    near = VECTORS[row]
    return row if metric != "dot" else int(np.argmax(VECTORS @ near))


def only(table):
    [entry] = table.list_indices()
    return entry


@pytest.mark.parametrize(
    ("kind", "config", "metric"),
    [
        ("IvfFlat", IvfFlat(distance_type="cosine", num_partitions=4), "cosine"),
        ("IvfFlat", IvfFlat(target_partition_size=100, sample_rate=64, max_iterations=10), "l2"),
        ("IvfSq", IvfSq(distance_type="dot", num_partitions=4), "dot"),
        ("IvfPq", IvfPq(num_partitions=4, num_sub_vectors=8, num_bits=8), "l2"),
        ("IvfPq", IvfPq(num_partitions=2, num_sub_vectors=16, num_bits=4), "l2"),
        ("IvfRq", IvfRq(num_partitions=4, num_bits=1), "l2"),
        ("IvfHnswSq", HnswSq(num_partitions=1, m=16, ef_construction=100), "l2"),
        ("IvfHnswFlat", HnswFlat(distance_type="cosine", num_partitions=1), "cosine"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_vector_indexes(table, kind, config, metric):
    table.create_index("vector", config=config, wait_timeout=WAIT)
    entry = only(table)
    assert (entry.name, entry.index_type, entry.columns) == ("vector_idx", kind, ["vector"])
    assert (entry.num_indexed_rows, entry.num_unindexed_rows) == (600, 0)
    stats = table.index_stats("vector_idx")
    assert (stats.num_indexed_rows, stats.num_unindexed_rows) == (600, 0)
    assert stats.distance_type == metric
    assert stats.index_type.replace("_", "").lower() == kind.lower()
    near = table.search(VECTORS[42]).nprobes(8).refine_factor(20).limit(3).to_arrow()
    assert near["id"][0].as_py() == nearest(42, metric)
    table.drop_index("vector_idx")
    assert list(table.list_indices()) == []


@pytest.mark.parametrize(
    ("column", "config", "kind", "filter", "count"),
    [
        ("id", BTree(), "BTree", "id between 10 and 19", 10),
        ("category", Bitmap(), "Bitmap", "category = 'c3'", 120),
        ("tags", LabelList(), "LabelList", "array_has_any(tags, ['t1'])", 200),
        ("name", Fm(), "Fm", "contains(name, 'item 59')", 11),
    ],
    ids=["btree", "bitmap", "label list", "fm"],
)
def test_scalar_indexes(table, column, config, kind, filter, count):
    table.create_index(column, config=config, wait_timeout=WAIT, name=f"by_{column}")
    entry = only(table)
    assert (entry.name, entry.index_type, entry.columns) == (f"by_{column}", kind, [column])
    assert table.index_stats(f"by_{column}").num_indexed_rows == 600
    assert table.count_rows(filter) == count
    assert table.search().where(filter).select(["id"]).to_arrow().num_rows == count
    table.drop_index(f"by_{column}")


TOKENIZERS = [
    (FTS(), {"item", "590"}),
    (FTS(with_position=True, stem=False, remove_stop_words=False, block_size=256), {"item", "590"}),
    (FTS(base_tokenizer="whitespace", lower_case=False, ascii_folding=False), {"item", "590"}),
    (FTS(base_tokenizer="raw"), {"item 590"}),
    (FTS(base_tokenizer="icu/split", max_token_length=None), {"item", "590"}),
    (FTS(base_tokenizer="ngram", ngram_min_length=2, ngram_max_length=3, stem=False), {"ite", "59"}),
    (FTS(language="French", max_token_length=20, custom_stop_words=["item"]), {"590"}),
]


@pytest.mark.parametrize(("config", "tokens"), TOKENIZERS)
def test_text_indexes(table, config, tokens):
    table.create_index("name", config=config, wait_timeout=WAIT)
    entry = only(table)
    assert (entry.name, entry.index_type, entry.columns) == ("name_idx", "FTS", ["name"])
    assert table.index_stats("name_idx").num_indexed_rows == 600
    word = "item 590" if config.base_tokenizer == "raw" else "590"
    found = table.search(word, fts_columns="name").limit(5).to_arrow()
    assert 590 in found["id"].to_pylist()
    assert tokens <= {token.text for token in table.tokenize("item 590", index_name="name_idx")}
    table.drop_index("name_idx")


def test_the_kind_is_chosen_for_the_column(table):
    table.create_index("vector", wait_timeout=WAIT)
    table.create_index("price", wait_timeout=WAIT)
    kinds = {entry.columns[0]: entry.index_type for entry in table.list_indices()}
    assert kinds == {"vector": "IvfPq", "price": "BTree"}
    for name in ("vector_idx", "price_idx"):
        table.drop_index(name)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.since("0.39")
def test_the_older_calls(table):
    table.create_index(metric="cosine", num_partitions=2, num_sub_vectors=8, wait_timeout=WAIT)
    table.create_scalar_index("category", "BITMAP", wait_timeout=WAIT)
    table.create_fts_index("name", wait_timeout=WAIT)
    assert {entry.index_type for entry in table.list_indices()} == {"IvfPq", "Bitmap", "FTS"}
    with pytest.raises(Exception, match="already exists"):
        table.create_scalar_index("category", "BITMAP")
    table.create_scalar_index("category", "BTREE", replace=True, wait_timeout=WAIT)
    assert table.index_stats("category_idx").index_type == "BTREE"
    for entry in table.list_indices():
        table.drop_index(entry.name)


@pytest.mark.since("0.39")
def test_replace(table):
    table.create_index("id", config=BTree(), wait_timeout=WAIT)
    table.create_index("id", config=Bitmap(), wait_timeout=WAIT)
    assert only(table).index_type == "Bitmap"
    table.drop_index("id_idx")


def test_rows_that_are_not_indexed_yet(database, name):
    table = database.create_table(name, ROWS.slice(0, 100))
    table.create_index("id", config=BTree())
    table.wait_for_index(["id_idx"], timeout=WAIT)
    table.add(ROWS.slice(100, 50))
    assert table.count_rows("id >= 90") == 60
    table.create_index("id", config=BTree())
    table.wait_for_index(["id_idx"], timeout=WAIT)
    assert table.index_stats("id_idx").num_indexed_rows == 150
    with pytest.raises(Exception, match="[Tt]ime"):
        table.wait_for_index(["nobody_idx"], timeout=timedelta(seconds=1))


@pytest.mark.since("0.39")
def test_the_job_of_a_build(database, table):
    job = table.create_index_async("category", config=Bitmap())
    job.wait()
    assert job.status() == "finished"
    assert only(table).name == "category_idx"
    listed = {info.job_id: info for info in database.list_jobs()}
    assert listed[job.id].table == "indexed"
    assert database.open_job(job.id).status() == "finished"
    # Cancelling an ended job does nothing; an unknown job is an error.
    assert database.cancel_job(job.id) is True
    assert database.cancel_job("nobody") is False
    assert job.events().num_rows > 0
    table.drop_index("category_idx")


@pytest.mark.since("0.39")
def test_invalid_indexes_are_rejected(table):
    with pytest.raises(Exception, match="nope"):
        table.create_index("nope", config=BTree())
    with pytest.raises(Exception, match="vector|float"):
        table.create_index("price", config=IvfFlat())
    with pytest.raises(Exception, match="sub.?vectors|divi"):
        table.create_index("vector", config=IvfPq(num_sub_vectors=DIMENSION - 1))
    with pytest.raises(Exception, match="not found|does not exist|no index"):
        table.drop_index("nobody")
    assert table.index_stats("nobody") is None
    assert list(table.list_indices()) == []
