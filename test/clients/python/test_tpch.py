"""The 22 queries of TPC-H at scale factor 0.01 have the answers of DuckDB. `npm run test:tpch` takes any scale factor."""

from decimal import Decimal

import pyarrow as pa
import pytest
from tpch.answers import difference
from tpch.comparison import comparison
from tpch.queries import NUMBERS

SCALE = 0.01


@pytest.fixture(scope="module")
def compared():
    with comparison(SCALE) as compared:
        yield compared


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"q{number:02}")
def test_joust_and_duckdb_give_the_same_answer(compared, number):
    assert compared.compare(number).difference is None


def answer(**columns) -> pa.Table:
    return pa.table(columns)


@pytest.mark.parametrize(
    ("joust", "duckdb"),
    [
        (answer(n=[1, 2]), answer(n=[1])),
        (answer(n=[1], m=[1]), answer(n=[1])),
        (answer(m=[1]), answer(n=[1])),
        (answer(n=[1]), answer(n=[1.0])),
        (answer(n=[1.0]), answer(n=[Decimal("1.0")])),
        (answer(n=["1"]), answer(n=[1])),
        (answer(n=[2, 1]), answer(n=[1, 2])),
        (answer(n=[1, 1], w=["a", "b"]), answer(n=[1, 1], w=["a", "c"])),
        (answer(n=[None]), answer(n=[1])),
        (answer(n=[Decimal("1.01")]), answer(n=[Decimal("1.02")])),
        (answer(n=[1.0]), answer(n=[1.00001])),
        (answer(n=[Decimal("0.3333")]), answer(n=[0.3331])),
    ],
)
def test_other_answers_differ(joust, duckdb):
    assert difference(joust, duckdb, ["n"]) is not None


@pytest.mark.parametrize(
    ("joust", "duckdb"),
    [
        (answer(n=[1, 1], w=["b", "a"]), answer(n=[1, 1], w=["a", "b"])),
        (answer(n=[1.0]), answer(n=[1.0 + 1e-12])),
        (answer(n=[Decimal("0.3333")]), answer(n=[1 / 3])),
        (answer(n=[Decimal("1.50")]), answer(n=[Decimal("1.5")])),
        (answer(n=pa.array(["a"], pa.large_string())), answer(n=["a"])),
    ],
)
def test_the_same_answers_are_equal(joust, duckdb):
    assert difference(joust, duckdb, ["n"]) is None
