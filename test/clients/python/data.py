"""Arrow data for the tests, and its conversion to bytes and back."""

import io

import numpy as np
import pyarrow as pa

DIMENSION = 16


def items(count: int, start: int = 0) -> pa.Table:
    """id, name (`item <id>`), category (c0..c4), price (id / 2) and a vector around one of 16 centres."""
    ids = np.arange(start, start + count)
    centres = np.random.default_rng(7).random((16, DIMENSION), dtype=np.float32)
    noise = np.random.default_rng(start + 1).random((count, DIMENSION), dtype=np.float32)
    vectors = centres[ids % 16] + 0.1 * noise
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": [f"item {i}" for i in ids],
            "category": [f"c{i % 5}" for i in ids],
            "price": pa.array(ids / 2, pa.float64()),
            "vector": pa.FixedSizeListArray.from_arrays(
                pa.array(vectors.ravel(), pa.float32()), DIMENSION
            ),
        }
    )


def vector_of(table: pa.Table, row: int) -> list[float]:
    return [float(value) for value in table["vector"][row].as_py()]


def ipc_stream(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def read_ipc_file(body: bytes) -> pa.Table:
    return pa.ipc.open_file(pa.py_buffer(bytes(body))).read_all()
