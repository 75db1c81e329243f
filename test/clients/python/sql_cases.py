"""Reads the sqllogictest files in `test/flight/cases`; `test/flight/sql-cases.ts` describes their format."""

import re
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).resolve().parents[2] / "flight" / "cases"


@dataclass
class SqlCase:
    line: int
    # `statement` or `query`, and what follows it
    head: list[str]
    sql: str
    # The expected lines of a query
    lines: list[str]


def sql_cases(path: Path, database: str) -> list[SqlCase]:
    """The records of a file that are for `database`."""
    cases = []
    numbered = [(n, line) for n, line in enumerate(path.read_text().split("\n"), 1)]
    block: list[tuple[int, str]] = []
    for n, line in [*numbered, (0, "")]:
        if line.strip() and not line.startswith("#"):
            block.append((n, line))
        elif not line.strip() and block:
            cases += _case(block, database)
            block = []
    return cases


def _case(block: list[tuple[int, str]], database: str) -> list[SqlCase]:
    while match := re.match(r"(skipif|onlyif) (\S+)", block[0][1]):
        if (match[1] == "skipif") == (match[2] == database):
            return []
        block = block[1:]
    (line, head), *body = block
    texts = [text for _, text in body]
    end = texts.index("----") if "----" in texts else len(texts)
    return [SqlCase(line, head.split(" "), "\n".join(texts[:end]), texts[end + 1 :])]


def sorted_lines(rows: list[list[str]], sort: str) -> list[str]:
    """The lines of a result, in the form of expected lines."""
    if sort == "valuesort":
        return sorted((value for row in rows for value in row), key=_utf16)
    lines = ["\t".join(row) for row in rows]
    return sorted(lines, key=_utf16) if sort == "rowsort" else lines


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be")
