"""What a task of any kind tells the server: that it runs, and its result."""

import time

PROGRESS_SECONDS = 2


class Unwanted(Exception):
    """The server does not need the result of the task any more."""


def do_each(server, tasks, do):
    """Hands over the result of `do(task, heartbeat)` for each task whose result the server needs."""
    for task in tasks:
        heartbeat = Heartbeat(server, task)
        try:
            # A task that runs again has perhaps handed its result over before.
            heartbeat.beat()
            result = do(task, heartbeat)
        except Unwanted:
            continue
        server.hand_over(task["key"], result)


class Heartbeat:
    """Tells the server from time to time that a task runs, and how much of it is done."""

    def __init__(self, server, task):
        self.server, self.key = server, task["key"]

    def beat(self, units=0):
        """Raises `Unwanted` if the server does not need the result any more."""
        if not self.server.report(self.key, units):
            raise Unwanted
        self.last = time.monotonic()

    def beat_if_due(self, units=0):
        if time.monotonic() - self.last >= PROGRESS_SECONDS:
            self.beat(units)
