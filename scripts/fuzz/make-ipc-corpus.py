"""Writes the examples of Arrow IPC to crates/joust-fuzz/corpus/ipc. Needs pyarrow and numpy.

Each file is an Arrow stream of one kind of data, or a damaged one.
"""

import datetime
import decimal
import pathlib
import struct

import numpy as np
import pyarrow as pa

FOLDER = pathlib.Path(__file__).parents[2] / "crates" / "joust-fuzz" / "corpus" / "ipc"


def stream(columns, compression=None, batches=1, metadata=None, **options):
    table = pa.record_batch(columns)
    if metadata is not None:
        table = table.replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression, **options)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        for _ in range(batches):
            writer.write_batch(table)
    return sink.getvalue().to_pybytes()


def dictionaries(deltas):
    """Two batches whose dictionaries differ."""
    first = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), ["a", "b"])
    second = pa.DictionaryArray.from_arrays(pa.array([2, 1, None], pa.int8()), ["a", "b", "c"])
    sink = pa.BufferOutputStream()
    schema = pa.schema([("d", first.type)])
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        for array in (first, second):
            writer.write_batch(pa.record_batch([array], schema=schema))
    return sink.getvalue().to_pybytes()


def fixed_size(values, size):
    return pa.FixedSizeListArray.from_arrays(values, size)


ints = pa.array([1, None, 3], pa.int64())
texts = pa.array(["a", "", None, "über", "x" * 40])
vectors = fixed_size(pa.array(np.arange(8, dtype=np.float32)), 4)
words = [f"word {index % 7}" for index in range(200)]

EXAMPLES = {
    "integers": stream({"id": ints, "small": pa.array([1, 2, None], pa.int8())}),
    "unsigned": stream({"u8": pa.array([0, 255], pa.uint8()), "u64": pa.array([0, 2**64 - 1], pa.uint64())}),
    "floats": stream({
        "half": pa.array(np.array([0.5, 1.5], np.float16)),
        "single": pa.array([1.0, float("nan")], pa.float32()),
        "double": pa.array([float("inf"), None], pa.float64()),
    }),
    "booleans": stream({"flag": pa.array([True, None, False] * 5)}),
    "texts": stream({"text": texts, "large": texts.cast(pa.large_string())}),
    "text-views": stream({"text": texts.cast(pa.string_view())}),
    "binary": stream({
        "bytes": pa.array([b"", b"\x00\xff", None]),
        "fixed": pa.array([b"abcd", None, b"efgh"], pa.binary(4)),
        "views": pa.array([b"short", b"longer than twelve bytes", None]).cast(pa.binary_view()),
    }),
    "vectors": stream({"id": pa.array([1, 2]), "vector": vectors}),
    "vectors-of-bytes": stream({"vector": fixed_size(pa.array(range(8), pa.uint8()), 4)}),
    "lists": stream({
        "list": pa.array([[1, 2], None, []]),
        "large": pa.array([["a"], [], None], pa.large_list(pa.string())),
    }),
    "list-views": stream({"list": pa.array([[1, 2], None, []], pa.list_view(pa.int32()))}),
    "nested": stream({"rows": pa.array([[{"a": 1, "b": ["x"]}], None, [{"a": None, "b": None}]])}),
    "map": stream({"map": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int32()))}),
    "decimals": stream({
        "d128": pa.array([decimal.Decimal("1.25"), None], pa.decimal128(10, 2)),
        "d256": pa.array([decimal.Decimal("-9.5"), None], pa.decimal256(50, 1)),
    }),
    "times": stream({
        "day": pa.array([datetime.date(2026, 1, 31), None]),
        "time": pa.array([1, None], pa.timestamp("us", tz="Europe/Berlin")),
        "clock": pa.array([1, None], pa.time64("ns")),
        "span": pa.array([1, None], pa.duration("ms")),
    }),
    "months": stream({"interval": pa.array([pa.MonthDayNano([1, 2, 3]), None])}),
    "nulls": stream({"nothing": pa.nulls(3)}),
    "run-ends": stream({"runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 5], pa.int32()), ["a", "b"])}),
    "union-dense": stream({
        "union": pa.UnionArray.from_dense(
            pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()), [pa.array([1, 2]), pa.array(["a"])]
        )
    }),
    "union-sparse": stream({
        "union": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
    }),
    "dictionary": stream({"d": texts.dictionary_encode()}, batches=2),
    "dictionary-replaced": dictionaries(deltas=False),
    "dictionary-delta": dictionaries(deltas=True),
    "dictionary-nested": stream({"d": pa.array([["a", "b"], ["a"]], pa.list_(pa.dictionary(pa.int8(), pa.string())))}),
    "compressed-lz4": stream({"text": pa.array(words), "id": pa.array(range(200))}, compression="lz4"),
    "compressed-zstd": stream({"text": pa.array(words), "id": pa.array(range(200))}, compression="zstd"),
    "compressed-dictionary": stream({"text": pa.array(words).dictionary_encode()}, compression="zstd"),
    "batches": stream({"id": ints}, batches=4),
    "no-batches": stream({"id": ints}, batches=0),
    "no-rows": stream({"id": pa.array([], pa.int64()), "text": pa.array([], pa.string())}),
    "legacy": stream({"id": ints}, use_legacy_format=True),
    "version-4": stream({"id": ints}, metadata_version=pa.ipc.MetadataVersion.V4),
    "metadata": stream({"id": ints}, metadata={"key": "value", "lance:k": "v"}),
    "json": stream({
        "json": pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(['{"a":[1]}', "null", "no"]))
    }),
    "names": stream(pa.record_batch([ints, ints], names=["a.b", "ü\x00"]).to_pydict()),
}

whole = EXAMPLES["texts"]
lz4 = EXAMPLES["compressed-lz4"]
frame = lz4.index(b"\x04\x22\x4d\x18")
DAMAGED = {
    "damaged-empty": b"",
    "damaged-cut": whole[: len(whole) // 2],
    "damaged-no-end": whole[:-8],
    "damaged-after-the-end": whole + b"\x01\x02\x03",
    "damaged-twice": whole + whole,
    "damaged-length": struct.pack("<iI", -1, 0x7FFF_FFFF) + whole[8:],
    "damaged-negative-length": struct.pack("<ii", -1, -5) + whole[8:],
    "damaged-offsets": whole.replace(struct.pack("<ii", 0, 1), struct.pack("<ii", 9, -1), 1),
    "damaged-decompressed-size": lz4[: frame - 8] + struct.pack("<q", 1 << 50) + lz4[frame:],
    "damaged-text": whole.replace("über".encode(), b"\xff\xfe\xfd\xfc\xfb", 1),
    "damaged-view": EXAMPLES["text-views"].replace(struct.pack("<i", 40), struct.pack("<i", 4000), 1),
    "file": b"ARROW1\x00\x00" + whole,
}

FOLDER.mkdir(parents=True, exist_ok=True)
for name, content in {**EXAMPLES, **DAMAGED}.items():
    (FOLDER / name).write_bytes(content)
print(f"{len(EXAMPLES) + len(DAMAGED)} files, {sum(file.stat().st_size for file in FOLDER.iterdir())} bytes")
