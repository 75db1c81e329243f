"""A process of its own that works with pylance on a table's files, past the server that serves them.

Appends rows of new ids, deletes some of its own, compacts; prints what was done as JSON, one a line.
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
    """Until it is done: a conflict leaves nothing behind, and is the writer's to resolve."""
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
