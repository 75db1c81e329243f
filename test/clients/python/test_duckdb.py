"""DuckDB reads joust over ADBC: the rows of a statement are a table in DuckDB, without a copy of all rows."""

import adbc_driver_flightsql.dbapi
import duckdb
import pytest
from data import items

ROWS = 20_000


@pytest.fixture
def cursor(server):
    options = {"username": "anyone", "password": server.key}
    with (
        adbc_driver_flightsql.dbapi.connect(
            f"grpc://127.0.0.1:{server.sql_port}", db_kwargs=options, autocommit=True
        ) as connection,
        connection.cursor() as cursor,
    ):
        yield cursor


@pytest.fixture
def local():
    """A DuckDB database with a table of its own."""
    with duckdb.connect() as local:
        local.execute("CREATE TABLE names (category TEXT, label TEXT)")
        local.execute("INSERT INTO names VALUES ('c0', 'first'), ('c1', 'second'), ('x', 'none')")
        yield local


def test_duckdb_joins_a_reader_with_its_own_table(database, name, cursor, local):
    database.create_table(name, items(ROWS))
    cursor.execute(f"SELECT category, price FROM {name} WHERE id < ?", (1_000,))
    local.register("remote", cursor.fetch_record_batch())
    joined = local.sql(
        "SELECT label, count(*), max(price) FROM remote JOIN names USING (category)"
        " GROUP BY label ORDER BY label"
    )
    assert joined.fetchall() == [("first", 200, 497.5), ("second", 200, 498.0)]


def test_duckdb_keeps_a_copy_of_the_rows(database, name, cursor, local):
    database.create_table(name, items(ROWS))
    cursor.execute(f"SELECT * FROM {name}")
    remote = cursor.fetch_record_batch()
    local.execute("CREATE TABLE copy AS SELECT * FROM remote")
    assert local.execute("SELECT count(*), sum(id) FROM copy").fetchone() == (
        ROWS,
        ROWS * (ROWS - 1) // 2,
    )
    types = dict(local.execute("SELECT column_name, column_type FROM (DESCRIBE copy)").fetchall())
    assert types["vector"] == "FLOAT[16]"


def test_duckdb_reads_every_type(cursor, local, name):
    cursor.execute(
        f"CREATE TABLE {name} AS SELECT CAST(1.50 AS DECIMAL(6, 2)) AS price,"
        " DATE '2024-02-29' AS day, TIMESTAMP '2024-02-29 01:02:03' AS moment, ['a', NULL] AS tags,"
        " {'n': 1} AS pair, true AS flag, substr('text', 2) AS part"
    )
    cursor.fetchall()
    cursor.execute(f"SELECT * FROM {name}")
    remote = cursor.fetch_record_batch()
    row = local.sql("SELECT price::TEXT, day::TEXT, moment::TEXT, tags, pair, flag, part FROM remote")
    assert row.fetchall() == [
        ("1.50", "2024-02-29", "2024-02-29 01:02:03", ["a", None], {"n": 1}, True, "ext")
    ]
