"""Waits for what a server does in the background."""

import time


def wait_for(check):
    """The result of `check` once it is true."""
    deadline = time.monotonic() + 60
    while not (found := check()):
        assert time.monotonic() < deadline, "not within 60 s"
        time.sleep(0.1)
    return found
