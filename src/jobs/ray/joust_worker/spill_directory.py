"""A temporary directory that the next worker of the node removes if its own worker was killed."""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "joust-sql-"
LOCK = "lock"


class SpillDirectory:
    """A directory with a lock that ends with this process."""

    def __init__(self):
        remove_abandoned()
        self.lock = None
        while self.lock is None:
            self.path = tempfile.mkdtemp(prefix=PREFIX)
            # None: another worker has removed it just before it was locked.
            self.lock = locked(Path(self.path, LOCK), os.O_CREAT)

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)


def remove_abandoned():
    """Removes the directories of workers that have ended. Those of other users stay."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        lock = locked(path / LOCK, 0)
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def locked(path, flags):
    """The descriptor of the file, if no other process has locked it and it still exists."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC | flags, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.exists():
            return file
    except OSError:
        pass
    os.close(file)
    return None
