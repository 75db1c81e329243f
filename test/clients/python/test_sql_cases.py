"""DuckDB gives the results that `test/flight/cases` expects of joust, except where a record says `skipif duckdb`."""

import datetime
import decimal
import re

import duckdb
import pytest
from sql_cases import CASES, sorted_lines, sql_cases


@pytest.mark.parametrize("path", sorted(CASES.glob("*.slt")), ids=lambda path: path.stem)
def test_duckdb_gives_the_expected_results(path):
    wrong = []
    with duckdb.connect() as database:
        for case in sql_cases(path, "duckdb"):
            try:
                failure = difference(database, case)
            except duckdb.Error as error:
                failure = str(error)
            if failure:
                wrong.append(f"{path.name}:{case.line}: {case.sql}\n{failure}")
    assert not wrong, "\n\n".join(wrong)


def difference(database, case) -> str | None:
    kind, *rest = case.head
    if kind == "query":
        rows = database.execute(case.sql).fetchall()
        sort = rest[1] if len(rest) > 1 else "nosort"
        lines = sorted_lines([[text(value) for value in row] for row in rows], sort)
        equal = len(lines) == len(case.lines) and all(map(equal_lines, lines, case.lines))
        return None if equal else f"DuckDB: {lines}\nfile: {case.lines}"
    if rest[0] == "error":
        # DuckDB has its own messages.
        try:
            database.execute(case.sql)
        except duckdb.Error:
            return None
        return "the statement succeeded"
    result = database.execute(case.sql).fetchall()
    if rest[0] == "count" and result != [(int(rest[1]),)]:
        return f"it changed {result} rows"
    return None


def equal_lines(line: str, expected: str) -> bool:
    values, wanted = line.split("\t"), expected.split("\t")
    return len(values) == len(wanted) and all(map(equal_values, values, wanted))


def equal_values(value: str, wanted: str) -> bool:
    """The result of a number with a fraction has another type or scale in DuckDB."""
    if value == wanted:
        return True
    number = re.compile(r"-?\d+\.\d+")
    if not (number.fullmatch(value) and number.fullmatch(wanted)):
        return False
    return float(value) == pytest.approx(float(wanted), rel=1e-12)


def text(value) -> str:
    """As in `test/flight/result-text.ts`."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case datetime.datetime():
            date, _, fraction = value.isoformat(" ").partition(".")
            return f"{date}.{fraction.rstrip('0')}" if fraction else date
        case datetime.time():
            return value.isoformat().rstrip("0") if value.microsecond else value.isoformat()
        case decimal.Decimal():
            return f"{value:f}"
        case list() | tuple():
            return f"[{', '.join(map(text, value))}]"
        case dict():
            return "{" + ", ".join(f"{name}: {text(item)}" for name, item in value.items()) + "}"
    return str(value) or "(empty)"
