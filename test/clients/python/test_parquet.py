"""`POST /v1/sql` with a Parquet reply, read by pyarrow."""

import io
import json
import urllib.request

import pyarrow as pa
import pyarrow.parquet as pq
from data import items

PARQUET = "application/vnd.apache.parquet"
ROWS = 30_000


def parquet(server, query):
    headers = {
        "Authorization": f"Bearer {server.key}",
        "Content-Type": "application/json",
        "Accept": PARQUET,
    }
    body = json.dumps({"query": query}).encode()
    request = urllib.request.Request(f"{server.url}/v1/sql", body, headers)
    with urllib.request.urlopen(request) as answer:
        assert answer.headers["Content-Type"] == PARQUET
        return pq.ParquetFile(io.BytesIO(answer.read()))


def test_a_table_is_read_back(server, database, name):
    table = items(ROWS)
    database.create_table(name, table)
    got = parquet(server, f"SELECT * FROM {name} ORDER BY id").read()
    assert got.num_rows == ROWS
    assert got.column_names == table.column_names
    for column in table.column_names:
        assert got[column].to_pylist() == table[column].to_pylist(), column
    assert got.schema.field("vector").type.list_size == table.schema.field("vector").type.list_size


def test_nested_values_and_nulls_are_read_back(server):
    query = """SELECT * FROM (VALUES
        (1, ['a', NULL], named_struct('x', 1.5, 'y', [true]), DATE '2024-02-29', X'00ff'),
        (2, NULL, NULL, NULL, NULL)) AS v (id, texts, pair, day, bytes) ORDER BY id"""
    first, second = parquet(server, query).read().to_pylist()
    assert first["texts"] == ["a", None]
    assert first["pair"] == {"x": 1.5, "y": [True]}
    assert (str(first["day"]), first["bytes"]) == ("2024-02-29", b"\x00\xff")
    assert second == {"id": 2, "texts": None, "pair": None, "day": None, "bytes": None}


def test_types_survive(server):
    query = """SELECT CAST(1.25 AS DECIMAL(10, 2)) AS price, arrow_cast(90, 'Duration(Second)') AS took,
        arrow_cast(0.5, 'Float16') AS half, arrow_cast('x', 'Dictionary(Int32, Utf8)') AS word,
        arrow_cast('2024-02-29T01:02:03Z', 'Timestamp(Microsecond, Some("+02:00"))') AS at"""
    schema = parquet(server, query).schema_arrow
    assert schema.types == [
        pa.decimal128(10, 2),
        pa.duration("s"),
        pa.float16(),
        pa.dictionary(pa.int32(), pa.string()),
        pa.timestamp("us", "+02:00"),
    ]


def test_a_large_result_has_row_groups(server, database, name):
    database.create_table(name, items(1_000))
    query = f"""SELECT a.id * 1000 + b.id AS id, sha256(CAST(a.id * 1000 + b.id AS TEXT)) AS hash
        FROM {name} a, {name} b"""
    file = parquet(server, query)
    assert file.num_row_groups > 1
    assert file.metadata.num_rows == 1_000_000
    assert set(file.read(["id"])["id"].to_pylist()) == set(range(1_000_000))


def test_no_rows_are_still_columns(server):
    file = parquet(server, "SELECT 1 AS a, 'x' AS b WHERE false")
    assert file.schema_arrow.names == ["a", "b"]
    assert file.metadata.num_rows == 0
