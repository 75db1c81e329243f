"""Runs the queries on joust and on DuckDB."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import adbc_driver_flightsql.dbapi
import duckdb
import pyarrow as pa
from joust_server import JoustServer, TemporaryRoot

from .answers import difference
from .data import generated, in_duckdb, load
from .queries import ordered_by, query


@dataclass
class Outcome:
    number: int
    rows: int
    joust_seconds: float
    duckdb_seconds: float
    # None if the answers are equal
    difference: str | None


class Comparison:
    """A server and a DuckDB database with the same tables."""

    def __init__(self, scale: float, server: JoustServer, database: duckdb.DuckDBPyConnection):
        self.scale = scale
        self._server = server
        self._database = database

    def compare(self, number: int) -> Outcome:
        sql = query(number, self.scale)
        joust, joust_seconds = _timed(lambda: self._joust(sql))
        expected, duckdb_seconds = _timed(lambda: self._database.sql(sql).to_arrow_table())
        found = difference(joust, expected, ordered_by(sql))
        return Outcome(number, expected.num_rows, joust_seconds, duckdb_seconds, found)

    def _joust(self, sql: str) -> pa.Table:
        options = {"username": "anyone", "password": self._server.key}
        address = f"grpc://127.0.0.1:{self._server.sql_port}"
        with (
            adbc_driver_flightsql.dbapi.connect(
                address, db_kwargs=options, autocommit=True
            ) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(sql)
            return cursor.fetch_arrow_table()


@contextmanager
def comparison(scale: float) -> Iterator[Comparison]:
    """Generates the data and loads it into both."""
    with generated(scale) as folder, TemporaryRoot() as root, JoustServer(root) as server:
        rows, seconds = _timed(lambda: load(server, folder))
        total = sum(rows.values())
        print(f"scale factor {scale:g}: loaded {total} rows into joust in {seconds:.1f} s")
        with in_duckdb(folder) as database:
            yield Comparison(scale, server, database)


def _timed(work):
    started = time.perf_counter()
    return work(), time.perf_counter() - started
