"""Parameters of statements that change rows, over Flight SQL with ADBC."""

import datetime
import decimal

import adbc_driver_manager
import pyarrow as pa
import pytest

COLUMNS = {
    "id": pa.int32(),
    "name": pa.string(),
    "price": pa.float64(),
    "day": pa.date32(),
    "cost": pa.decimal128(9, 2),
    "vector": pa.list_(pa.float32(), 2),
    "big": pa.uint64(),
}


@pytest.fixture
def table(adbc, database, name):
    """The name of a table with one column of each type, and one row."""
    row = {"id": 1, "name": "one", "price": 0.5, "day": datetime.date(2026, 1, 2), "big": 2**64 - 1}
    row |= {"cost": decimal.Decimal("9.25"), "vector": [1, 2]}
    database.create_table(name, pa.Table.from_pylist([row], schema=pa.schema(COLUMNS)))
    return name


@pytest.fixture
def rows(adbc, table):
    """The function that returns the rows of the table."""

    def select():
        with adbc.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {table} ORDER BY id")
            return cursor.fetch_arrow_table().to_pylist()

    return select


@pytest.mark.parametrize(
    ("statement", "columns"),
    [
        ("INSERT INTO {t} VALUES (?, ?, ?, ?, ?, ?, ?)", list(COLUMNS)),
        ("INSERT INTO {t} (big, name) VALUES ($1, $2), ($1, 'x')", ["big", "name"]),
        ("INSERT INTO {t} SELECT * FROM {t} WHERE day > ?", ["day"]),
        ("UPDATE {t} SET name = $1, price = $2, vector = $3 WHERE id = $4",
         ["name", "price", "vector", "id"]),
        ("DELETE FROM {t} AS x WHERE x.id = ? OR x.price BETWEEN ? AND ?",
         ["id", "price", "price"]),
        ("MERGE INTO {t} USING (SELECT * FROM {t} WHERE id < $1) AS s ON {t}.id = s.id"
         " WHEN MATCHED AND s.cost < $2 THEN UPDATE SET *", ["id", "cost"]),
    ],
)  # fmt: skip
def test_parameters_have_the_types_of_columns(adbc, table, statement, columns):
    with adbc.cursor() as cursor:
        schema = cursor.adbc_prepare(statement.format(t=table))
    assert schema.types == [COLUMNS[column] for column in columns]


def test_parameters_of_unknown_types_are_texts(adbc, table):
    with adbc.cursor() as cursor:
        schema = cursor.adbc_prepare("INSERT INTO no_such_table VALUES ($1)")
        assert schema.types == [pa.string()]
        cursor.execute(f"INSERT INTO {table} (id, name) VALUES (?, upper(?))", ("7", "x"))
        assert cursor.fetchall() == [(1,)]
        cursor.execute(f"SELECT name FROM {table} WHERE id = 7")
        assert cursor.fetchall() == [("X",)]


def test_values_of_other_numeric_types_are_converted(adbc, table, rows):
    with adbc.cursor() as cursor:
        for values in [(2.0, 7), (3, 2.5)]:
            cursor.execute(f"INSERT INTO {table} (id, price) VALUES (?, ?)", values)
        cursor.execute(f"UPDATE {table} SET id = ?, price = ? WHERE id = ?", (4.0, 8, 3.0))
        assert cursor.fetchall() == [(1,)]
        cursor.execute(f"DELETE FROM {table} WHERE price > ? AND id = ?", (7, 4.0))
        assert cursor.fetchall() == [(1,)]
    assert [row["price"] for row in rows()] == [0.5, 7.0]


def test_dates_decimals_and_times_are_compared_by_their_types(adbc, table, rows):
    day = datetime.date(2026, 1, 2)
    moment = datetime.datetime(2026, 1, 1, 23, 59)
    with adbc.cursor() as cursor:
        for condition, value, count in [
            ("day < ?", day, 0),
            ("day = ?", day, 1),
            ("day BETWEEN ? AND day", day, 1),
            ("day > ?", moment, 1),
            ("cost IN (?, 3)", decimal.Decimal("9.25"), 1),
        ]:
            cursor.execute(f"UPDATE {table} SET price = price + 1 WHERE {condition}", (value,))
            assert cursor.fetchall() == [(count,)], condition
        cursor.execute(f"UPDATE {table} SET day = ?, cost = ?", (moment, 7))
    assert rows()[0] | {"day": datetime.date(2026, 1, 1), "cost": 7, "price": 4.5} == rows()[0]


def test_a_decimal_is_compared_as_a_number(adbc, table, rows):
    ten = decimal.Decimal("10.00")
    with adbc.cursor() as cursor:
        cursor.execute(f"SELECT id FROM {table} WHERE cost > ?", (ten,))
        assert cursor.fetchall() == []
        cursor.execute(f"DELETE FROM {table} WHERE cost > ?", (ten,))
        assert cursor.fetchall() == [(0,)]
        cursor.execute(f"UPDATE {table} SET cost = ? WHERE cost < ?", (ten, ten))
        assert cursor.fetchall() == [(1,)]
    assert rows()[0]["cost"] == ten


@pytest.mark.parametrize("count", [1, 1_000])
def test_many_rows_are_one_commit(adbc, database, table, rows, count):
    before = database.open_table(table).version
    values = [(id + 10, f"name {id}", None if id % 2 else id / 2) for id in range(count)]
    with adbc.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {table} (id, name, price) VALUES (?, ?, ?)", values)
        assert cursor.rowcount == count
    after = database.open_table(table)
    assert after.version == before + 1
    found = rows()[1:]
    assert [(row["id"], row["name"], row["price"]) for row in found] == values


def test_many_rows_of_all_types(adbc, table, rows):
    row = rows()[0]
    batch = pa.Table.from_pylist([row | {"id": id} for id in (2, 3)], schema=pa.schema(COLUMNS))
    with adbc.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {table} VALUES ($1, $2, $3, $4, $5, $6, $7)", batch)
        assert cursor.rowcount == 2
        values = "$1, lower($2), $3 + 0, $4, $5, $6, ($7)"
        cursor.executemany(f"INSERT INTO {table} VALUES ({values})", batch)
        assert cursor.rowcount == 2
    assert [row | {"id": id} for id in (1, 2, 2, 3, 3)] == rows()


def test_one_row_that_does_not_fit_inserts_nothing(adbc, database, table):
    before = database.open_table(table).version
    rows = [(str(id), "x") for id in range(2_000)]
    rows[1_500] = ("word", "x")
    with adbc.cursor() as cursor:
        with pytest.raises(adbc_driver_manager.Error, match="row 1501 of .* no row was inserted"):
            cursor.executemany(f"INSERT INTO {table} (id, name) VALUES (?, ?)", rows)
    assert database.open_table(table).version == before


def test_another_change_runs_once_for_each_row(adbc, table, rows):
    with adbc.cursor() as cursor:
        ids = [(id,) for id in range(2, 12)]
        cursor.executemany(f"INSERT INTO {table} (id) VALUES (?)", ids)
        cursor.executemany(f"UPDATE {table} SET name = ? WHERE id > ?", [("a", 1), ("b", 6)])
        assert cursor.rowcount == 10 + 5
        names = [row["name"] for row in rows()]
        assert names == ["one"] + ["a"] * 5 + ["b"] * 5
        cursor.executemany(f"DELETE FROM {table} WHERE id = ?", ids[:4])
        assert cursor.rowcount == 4


def test_a_failing_row_names_those_before_it(adbc, table, rows):
    statement = f"INSERT INTO {table} (id) SELECT CAST(? AS INT)"
    failure = "row 3 of 4 of the parameters failed, rows 1 to 2 were applied"
    with adbc.cursor() as cursor:
        with pytest.raises(adbc_driver_manager.Error, match=failure):
            cursor.executemany(statement, [("2",), ("3",), ("word",), ("5",)])
    assert [row["id"] for row in rows()] == [1, 2, 3]


def test_without_rows_nothing_is_done(adbc, database, table):
    before = database.open_table(table).version
    none = pa.table({"id": pa.array([], pa.int32())})
    with adbc.cursor() as cursor:
        for statement in [
            f"INSERT INTO {table} (id) VALUES (?)",
            f"DELETE FROM {table} WHERE id = ?",
        ]:
            cursor.executemany(statement, none)
            assert cursor.rowcount == 0
    assert database.open_table(table).version == before


def test_a_query_takes_one_row(adbc, table):
    with adbc.cursor() as cursor:
        with pytest.raises(adbc_driver_manager.Error, match="is a query|more than one row"):
            cursor.executemany(f"SELECT * FROM {table} WHERE id = ?", [(1,), (2,)])
