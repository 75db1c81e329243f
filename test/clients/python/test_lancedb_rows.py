"""`lancedb` 0.40 in remote mode: rows are added, updated and deleted."""

from datetime import date

import pyarrow as pa
import pytest
from data import DIMENSION, items, vector_of
from lancedb.expr import col, lit
from rows import ids, values


def test_rows_are_added(table):
    assert table.add(items(5, start=10)).version == 2
    row = {"id": 99, "name": "last", "category": "c0", "price": 1.5, "vector": [0.5] * DIMENSION}
    assert table.add([row]).version == 3
    assert table.count_rows() == 16
    found = table.search().where("id = 99").to_list()
    assert found == [row]

    # A missing column becomes null, in any column order.
    table.add([{"name": "half", "id": 100}])
    [half] = table.search().where("id = 100").to_list()
    assert half == {"id": 100, "name": "half", "category": None, "price": None, "vector": None}


def test_a_non_null_column_is_required(database, name):
    schema = pa.schema([pa.field("item", pa.string()), pa.field("price", pa.float64(), False)])
    table = database.create_table(name, schema=schema)
    table.add([{"item": "foo", "price": 10.0}])
    with pytest.raises(RuntimeError, match="Append with different schema"):
        table.add([{"item": "bar"}])
    table.alter_columns({"path": "price", "nullable": True})
    table.add([{"item": "bar"}])
    assert table.count_rows() == 2


def test_rows_are_overwritten(table):
    other = pa.table({"id": [1, 2], "word": ["one", "two"]})
    assert table.add(other, mode="overwrite").version == 2
    assert table.schema.names == ["id", "word"]
    assert values(table, "word") == {1: "one", 2: "two"}


def test_many_batches_in_one_append(table):
    reader = pa.RecordBatchReader.from_batches(
        items(1).schema, (items(100, start=start).to_batches()[0] for start in range(10, 1010, 100))
    )
    assert table.add(reader).version == 2
    assert ids(table) == list(range(1010))


def test_invalid_vectors_are_rejected(database, name):
    good = {"id": 1, "vector": [1.0, 2.0]}
    not_a_number = {"id": 2, "vector": [1.0, float("nan")]}
    table = database.create_table(name, [good])
    with pytest.raises(ValueError, match="NaN"):
        table.add([not_a_number])
    with pytest.raises(Exception):
        table.add([{"id": 2, "vector": [1.0, 2.0, 3.0]}])
    assert ids(table) == [1]
    table.add([not_a_number, {"id": 3, "vector": [5.0, 6.0]}], on_bad_vectors="drop")
    assert ids(table) == [1, 3]
    table.add([{**not_a_number, "id": 4}], on_bad_vectors="fill", fill_value=7.0)
    assert values(table, "vector")[4] == [1.0, 7.0]
    table.add([{**not_a_number, "id": 5}], on_bad_vectors="null")
    assert values(table, "vector")[5] is None


def test_data_with_another_schema_is_rejected(table):
    with pytest.raises(Exception, match="nope"):
        table.add(pa.table({"id": [11], "nope": ["x"]}))
    with pytest.raises(Exception):
        table.add(pa.table({"id": ["a word"]}))
    assert (table.version, table.count_rows()) == (1, 10)


def test_rows_are_counted(table):
    assert table.count_rows() == 10
    assert table.count_rows("category = 'c1'") == 2
    assert table.count_rows("id in (1, 2, 77)") == 2
    assert table.count_rows("price is null") == 0
    with pytest.raises(Exception, match="nope"):
        table.count_rows("nope = 1")


def test_rows_are_updated(table):
    updated = table.update(where="id < 3", values={"name": "it's first", "price": 2.5})
    assert (updated.rows_updated, updated.version) == (3, 2)
    assert table.count_rows("name = 'it''s first' and price = 2.5") == 3
    assert table.update(values_sql={"price": "price + 1"}).rows_updated == 10
    assert values(table, "price")[9] == 5.5
    assert table.update(where=col("id") == lit(4), values={"category": None}).rows_updated == 1
    assert values(table, "category")[4] is None
    vector = [float(number) for number in range(DIMENSION)]
    table.update(where="id = 5", values={"vector": vector})
    assert table.search(vector).limit(1).to_list()[0]["id"] == 5

    unchanged = table.update(where="id > 1000", values={"name": "nobody"})
    assert unchanged.rows_updated == 0
    with pytest.raises(Exception, match="no column `nope`"):
        table.update(values_sql={"nope": "1"})
    with pytest.raises(Exception, match="ghost"):
        table.update(where="ghost = 1", values={"name": "x"})


def test_values_of_every_type_are_set(database, name):
    schema = pa.schema(
        [("id", pa.int64()), ("day", pa.date32()), ("yes", pa.bool_()), ("bytes", pa.binary())]
    )
    table = database.create_table(name, schema=schema)
    table.add([{"id": 1}])
    new = {"day": date(2026, 11, 21), "yes": True, "bytes": b"\x00\xff"}
    table.update(values=new)
    assert table.search().to_list() == [{"id": 1, **new}]


def test_rows_are_deleted(table):
    deleted = table.delete("id < 4 and category = 'c1'")
    assert deleted.version == 2
    assert deleted.num_deleted_rows == 1
    assert ids(table) == [0, *range(2, 10)]
    assert table.delete("id > 1000").num_deleted_rows == 0
    with pytest.raises(Exception, match="nope"):
        table.delete("nope = 1")
    table.delete("true")
    assert table.count_rows() == 0


def test_every_handle_sees_a_write(database, table):
    other = database.open_table(table.name)
    table.add(items(1, start=10))
    assert other.count_rows() == 11
    other.delete("id = 0")
    assert table.count_rows() == 10
    assert vector_of(table.head(1), 0) == vector_of(items(10), 1)
