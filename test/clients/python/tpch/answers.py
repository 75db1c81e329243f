"""
Compares two answers.

- They have the same number of rows and of columns, and the same names where the query gives them.
- The types are of one kind: integer, decimal, floating point, text, date. A division or average of decimals is a
  floating point number in DuckDB and a decimal in joust.
- Texts, dates, integers and decimals are equal. A floating point number may differ by `RELATIVE` of its value. Beside
  one, a decimal may also differ by `LAST_PLACES` units of its last digit.
- The columns of ORDER BY have the same values in the same order. Rows that are equal in these columns may have any
  order.
"""

import decimal
from itertools import groupby

import pyarrow as pa

RELATIVE = 1e-9
LAST_PLACES = 1


def difference(joust: pa.Table, duckdb: pa.Table, ordered_by: list[str]) -> str | None:
    """The first difference between two answers; None if they are equal."""
    if found := _columns_differ(joust.schema, duckdb.schema):
        return found
    if joust.num_rows != duckdb.num_rows:
        return f"joust has {joust.num_rows} rows, DuckDB has {duckdb.num_rows}"
    keys = [duckdb.schema.names.index(name) for name in ordered_by]
    rows, expected = (_sorted_ties(table, keys) for table in (joust, duckdb))
    for at, (row, wanted) in enumerate(zip(rows, expected)):
        for field, value, other in zip(joust.schema, row, wanted):
            if not _equal(value, other):
                return f"row {at}, column {field.name}: joust has {value!r}, DuckDB has {other!r}"
    return None


def _columns_differ(joust: pa.Schema, duckdb: pa.Schema) -> str | None:
    if len(joust) != len(duckdb):
        return f"joust has {len(joust)} columns, DuckDB has {len(duckdb)}"
    for ours, theirs in zip(joust, duckdb):
        if ours.name != theirs.name and theirs.name.isidentifier():
            return f"joust has a column {ours.name}, DuckDB has {theirs.name}"
        kinds = (_kind(ours.type), _kind(theirs.type))
        if kinds[0] != kinds[1] and kinds != ("decimal", "floating point"):
            return f"column {ours.name}: joust has the type {ours.type}, DuckDB has {theirs.type}"
    return None


def _kind(of: pa.DataType) -> str:
    if pa.types.is_integer(of) or (pa.types.is_decimal(of) and of.scale == 0):
        return "integer"
    if pa.types.is_decimal(of):
        return "decimal"
    if pa.types.is_floating(of):
        return "floating point"
    if pa.types.is_string(of) or pa.types.is_large_string(of) or of == pa.string_view():
        return "text"
    return str(of)


def _sorted_ties(table: pa.Table, keys: list[int]) -> list[tuple]:
    """The rows; those with the same keys that follow each other are sorted."""
    rows = list(zip(*(column.to_pylist() for column in table.columns)))
    groups = groupby(rows, lambda row: [row[key] for key in keys])
    return [row for _, group in groups for row in sorted(group, key=repr)]


def _equal(value, other) -> bool:
    if value is None or other is None or not isinstance(other, float):
        return value == other
    tolerance = abs(other) * RELATIVE
    if isinstance(value, decimal.Decimal):
        tolerance += LAST_PLACES * 10.0 ** value.as_tuple().exponent
    return abs(float(value) - other) <= tolerance
