"""A separate process that writes a table's files with pylance while a server serves them.

Appends rows with new ids, deletes some of them, compacts; prints each action as a JSON line.
Run as: python foreign_writer.py PATH FIRST_ID ROUNDS
"""

import json
import sys

import lance
from data import items

ROWS = 10


def is_conflict(error: Exception) -> bool:
    return "conflict" in str(error).lower() or "concurrent" in str(error).lower()


def surely(path: str, change) -> None:
    """Repeats until the commit succeeds: a conflict changes nothing, and the writer retries."""
    while True:
        try:
            return change(lance.dataset(path))
        except OSError as error:
            if not is_conflict(error):
                raise


def main(path: str, first: int, rounds: int) -> None:
    for number in range(rounds):
        start = first + number * ROWS
        lance.write_dataset(items(ROWS, start), path, mode="append")
        print(json.dumps({"added": [start, start + ROWS]}), flush=True)
        if number % 3 == 2:
            surely(path, lambda dataset: dataset.delete(f"id = {start} or id = {start + 1}"))
            print(json.dumps({"removed": [start, start + 2]}), flush=True)
        if number % 5 == 4:
            surely(path, lambda dataset: dataset.optimize.compact_files())
            print(json.dumps({"compacted": number}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
