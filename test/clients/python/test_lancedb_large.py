"""Data that the LanceDB client writes and reads in parts: multipart writes, clones, large values."""

import lancedb
import pyarrow as pa
import pytest
from data import items
from lance.blob import blob_array, blob_field
from lancedb.index import FTS, BTree


@pytest.fixture(scope="module")
def db(server):
    return lancedb.connect("db://joust", api_key=server.key, host_override=server.url)


def in_batches(table: pa.Table) -> pa.Table:
    """The client distributes batches: a single batch would be sent as one part."""
    return pa.Table.from_batches(table.to_batches(max_chunksize=250))


def test_a_parallel_write_creates_one_version(db, name):
    table = db.create_table(name, items(100))
    table.add(in_batches(items(5_000, 100)), write_parallelism=4)
    assert table.count_rows() == 5_100
    assert len(table.list_versions()) == 2
    assert table.count_rows("id >= 100") == 5_000
    # One transaction for the creation and one for each part: the client sent several parts.
    assert table.stats()["fragment_stats"]["num_fragments"] > 2
    table.add(in_batches(items(3_000)), mode="overwrite", write_parallelism=3)
    assert table.count_rows() == 3_000
    assert len(table.list_versions()) == 3


def test_a_failed_parallel_write_leaves_nothing(db, name):
    table = db.create_table(name, items(10))
    first = items(10).to_batches()[0]

    def batches():
        yield first
        raise RuntimeError("the source is gone")

    reader = pa.RecordBatchReader.from_batches(first.schema, batches())
    with pytest.raises(Exception, match="the source is gone"):
        table.add(reader, write_parallelism=2)
    assert table.count_rows() == 10
    assert len(table.list_versions()) == 1


def test_clones_are_independent(db, name):
    source = db.create_table(name, items(50))
    source.tags.create("v1", 1)
    source.delete("id < 10")
    whole = db.clone_table(f"{name}_clone", source.uri)
    tagged = db.clone_table(f"{name}_tagged", source.uri, source_tag="v1")
    db.drop_table(name)
    assert (whole.count_rows(), tagged.count_rows()) == (40, 50)
    assert whole.search(items(1)["vector"][0].as_py()).limit(3).to_arrow().num_rows == 3


def test_indexes_and_columns_are_prewarmed(db, name):
    table = db.create_table(name, items(300))
    table.create_index("id", config=BTree())
    table.wait_for_index(["id_idx"])
    table.prewarm_index("id_idx")
    table.prewarm_data(["vector"])
    table.prewarm_data()
    with pytest.raises(Exception, match="none"):
        table.prewarm_index("none")


@pytest.fixture(scope="module")
def blobs(db):
    values = [b"hello", None, b"", bytes(range(256)) * 4_000, b"x" * 5_000_000]
    schema = pa.schema([pa.field("id", pa.int64()), blob_field("image")])
    data = pa.table([pa.array(range(len(values)), pa.int64()), blob_array(values)], schema=schema)
    table = db.create_table("large_values", data)
    rows = table.search().with_row_id(True).select(["id"]).to_arrow().sort_by("id")
    return table, values, rows["_rowid"].to_pylist()


def test_blob_columns_are_read_as_descriptors(blobs):
    table, values, _ = blobs
    assert table.blob_columns() == ["image"]
    rows = table.search().to_arrow().sort_by("id")["image"].to_pylist()
    assert [row and row["size"] for row in rows] == [
        None if value is None else len(value) for value in values
    ]


@pytest.mark.since("0.40")
def test_blobs_are_fetched_whole(blobs):
    table, values, ids = blobs
    assert table.fetch_blobs("image", ids).to_pylist() == values
    # More than one response may contain: the client requests fewer rows at a time.
    many = table.fetch_blobs("image", [ids[4]] * 40)
    assert [len(value) for value in many.to_pylist()] == [5_000_000] * 40


def test_blobs_of_a_hybrid_search_are_fetched(db):
    schema = pa.schema(
        [
            pa.field("id", pa.int64()),
            pa.field("text", pa.string()),
            pa.field("vector", pa.list_(pa.float32(), 2)),
            blob_field("image"),
        ]
    )
    table = db.create_table("hybrid_blobs", schema=schema)
    table.add(
        [
            {"id": 1, "text": "hello alpha", "vector": [1.0, 0.0], "image": b"alpha"},
            {"id": 2, "text": "hello beta", "vector": [0.9, 0.1], "image": b"beta"},
            {"id": 3, "text": "other", "vector": [0.0, 1.0], "image": b"other"},
        ]
    )
    table.create_index("text", config=FTS(with_position=False))
    table.wait_for_index(["text_idx"])
    search = table.search(query_type="hybrid").vector([1.0, 0.0]).text("hello")
    hits = search.select(["id", "image"]).limit(2).to_arrow()
    assert "_lance_row_id" in hits.schema.field("image").type.names
    blobs = table.fetch_blobs("image", hits)
    assert {value.as_py() for value in blobs} == {b"alpha", b"beta"}


def test_blobs_are_read_like_files(blobs):
    table, values, ids = blobs
    files = table.fetch_blob_files("image", ids)
    assert files[1] is None
    for file, value in zip(files, values):
        if value is None:
            continue
        assert file.size() == len(value)
        assert file.readall() == value
    file = files[4]
    file.seek(4_999_990)
    assert file.read(5) == b"xxxxx"
    assert len(file.read(100)) == 5
