"""Waits for index builds by polling the listing."""

import time


def wait_for_indexes(listing, count: int, timeout: float = 120):
    """Calls `listing` until it has `count` entries and all are ready; returns them."""
    deadline = time.monotonic() + timeout
    while True:
        entries = listing() or []
        failed = [entry for entry in entries if (entry.status or "").lower() == "failed"]
        assert not failed, failed
        if len(entries) == count and all((e.status or "").lower() == "ready" for e in entries):
            return entries
        assert time.monotonic() < deadline, f"not ready within {timeout} s: {entries}"
        time.sleep(0.1)
