"""The 22 queries of TPC-H with the parameters of its validation."""

import re
from pathlib import Path

NUMBERS = range(1, 23)


def query(number: int, scale: float) -> str:
    text = (Path(__file__).parent / "queries" / f"q{number:02}.sql").read_text()
    return text.replace("{fraction}", f"{0.0001 / scale:.10f}") if number == 11 else text


def ordered_by(sql: str) -> list[str]:
    """The columns of the last ORDER BY."""
    _, _, clause = sql.rpartition("order by ")
    if clause == sql:
        return []
    clause = re.sub(r"\nlimit \d+", "", clause)
    return [part.split()[0] for part in clause.split(",")]
