"""`lancedb` 0.40 in remote mode: columns are added, altered and dropped."""

import pyarrow as pa
import pytest
from data import items
from rows import values


def test_columns_are_added_by_expression(table):
    added = table.add_columns({"twice": "price * 2", "loud": "upper(name)"})
    assert added.version == 2
    assert table.count_rows("twice = id") == 10
    assert values(table, "loud")[3] == "ITEM 3"
    table.add(items(1, start=10))
    assert values(table, "twice")[10] is None
    for wrong in ({"bad": "nope + 1"}, {"price": "1"}, {"bad": "price +"}):
        with pytest.raises(Exception, match="400|nope|price"):
            table.add_columns(wrong)
    assert table.schema.names == [*items(1).schema.names, "twice", "loud"]


@pytest.mark.since("0.40")
def test_columns_of_nulls(table):
    fields = [pa.field("note", pa.string()), pa.field("seen", pa.timestamp("us", tz="UTC"))]
    table.add_columns(fields)
    assert table.schema.field("seen").type == pa.timestamp("us", tz="UTC")
    assert set(values(table, "note").values()) == {None}
    table.update(where="id = 1", values={"note": "hello"})
    assert table.count_rows("note = 'hello'") == 1
    table.add_columns(pa.field("one", pa.int8()))
    table.add_columns(pa.schema([("two", pa.list_(pa.float32(), 3))]))
    assert table.schema.field("two").type == pa.list_(pa.float32(), 3)


def test_columns_are_altered(table):
    table.alter_columns({"path": "price", "rename": "cost", "data_type": pa.float32()})
    assert table.schema.field("cost").type == pa.float32()
    assert values(table, "cost")[3] == 1.5
    table.alter_columns({"path": "id", "nullable": True}, {"path": "name", "rename": "title"})
    assert table.schema.names == ["id", "title", "category", "cost", "vector"]
    for wrong in (
        {"path": "nope", "rename": "x"},
        {"path": "title", "rename": "cost"},
        {"path": "title", "data_type": pa.list_(pa.int8())},
    ):
        with pytest.raises(Exception):
            table.alter_columns(wrong)


def test_a_column_becomes_nullable(database, name):
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    table = database.create_table(name, pa.table({"id": [1]}, schema=schema))
    assert not table.schema.field("id").nullable
    table.alter_columns({"path": "id", "nullable": True})
    assert table.schema.field("id").nullable


def test_columns_are_dropped(table):
    assert table.drop_columns(["category", "price"]).version == 2
    assert table.schema.names == ["id", "name", "vector"]
    with pytest.raises(Exception, match="nope"):
        table.drop_columns(["nope"])
    with pytest.raises(Exception, match="every|all|left"):
        table.drop_columns(["id", "name", "vector"])


def test_metadata_of_fields(table):
    update = {"path": "price", "metadata": {"unit": "EUR", "source": "list"}}
    table.update_field_metadata(update, {"path": "id", "metadata": {"key": "yes"}})
    metadata = table.schema.field("price").metadata
    assert (metadata[b"unit"], metadata[b"source"]) == (b"EUR", b"list")
    table.update_field_metadata({"path": "price", "metadata": {"unit": None, "more": "1"}})
    metadata = table.schema.field("price").metadata
    assert b"unit" not in metadata
    assert (metadata[b"source"], metadata[b"more"]) == (b"list", b"1")
    table.update_field_metadata({"path": "price", "metadata": {"only": "this"}, "replace": True})
    assert dict(table.schema.field("price").metadata) == {b"only": b"this"}
    with pytest.raises(Exception, match="nope"):
        table.update_field_metadata({"path": "nope", "metadata": {"a": "b"}})


def test_a_computed_column_is_declared(table):
    table.add_columns(computed={"twice": "price * 2"})
    twice = table.schema.field("twice")
    assert twice.type == pa.float64()
    # The SDK recognizes a computed column by this metadata.
    assert twice.metadata[b"computed_column.kind"] == b"sql"
    assert twice.metadata[b"computed_column.expression"] == b"price * 2"
    with pytest.raises(Exception, match="nope"):
        table.add_columns(computed={"bad": "nope + 1"})


def test_a_refresh_fills_the_rows_that_need_it(table):
    rows = table.count_rows()
    table.add_columns(computed={"twice": "price * 2"})
    assert table.refresh_column_async("twice").wait().rows_assigned == rows
    table.delete("id = 0")
    assert table.refresh_column_async("twice").wait().rows_assigned == 0
    table.update(where="id = 1", values={"price": 77.0})
    assert table.refresh_column_async("twice").wait().rows_assigned == 1
    with pytest.raises(Exception, match="not a computed column"):
        table.refresh_column_async("price")


def test_metadata_of_a_schema_is_kept(database, name):
    schema = pa.schema(
        [pa.field("id", pa.int64(), metadata={"unit": "piece"})], metadata={"owner": "search"}
    )
    database.create_table(name, schema=schema)
    read = database.open_table(name).schema
    assert read.metadata[b"owner"] == b"search"
    assert read.field("id").metadata[b"unit"] == b"piece"


def test_types_are_preserved(database, name):
    schema = pa.schema(
        [
            ("tiny", pa.int8()),
            ("big", pa.uint64()),
            ("half", pa.float16()),
            ("text", pa.large_string()),
            ("bytes", pa.binary(4)),
            ("day", pa.date32()),
            ("time", pa.time64("ns")),
            ("when", pa.timestamp("ms", tz="Europe/Berlin")),
            ("span", pa.duration("s")),
            ("money", pa.decimal128(12, 2)),
            ("kind", pa.dictionary(pa.int16(), pa.string())),
            ("list", pa.list_(pa.int32())),
            ("nested", pa.struct([("a", pa.list_(pa.struct([("b", pa.bool_())])))])),
            ("vector", pa.list_(pa.float16(), 3)),
        ]
    )
    table = database.create_table(name, schema=schema)
    assert database.open_table(name).schema.equals(table.schema)
    assert table.schema == schema
