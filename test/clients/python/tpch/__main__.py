"""`python -m tpch [SCALE]`: prints a line for each query; the exit code is 1 if an answer differs."""

import sys

from .comparison import comparison
from .queries import NUMBERS


def main(scale: float) -> int:
    equal = 0
    with comparison(scale) as compared:
        for number in NUMBERS:
            try:
                outcome = compared.compare(number)
            except Exception as error:
                print(f"q{number:02}  failed: {error}", flush=True)
                continue
            equal += outcome.difference is None
            print(
                f"q{number:02}  joust {outcome.joust_seconds:7.3f} s"
                f"  DuckDB {outcome.duckdb_seconds:7.3f} s"
                f"  {outcome.rows:5} rows  {outcome.difference or 'equal'}",
                flush=True,
            )
    print(f"{equal} of {len(NUMBERS)} equal")
    return 0 if equal == len(NUMBERS) else 1


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 1))
