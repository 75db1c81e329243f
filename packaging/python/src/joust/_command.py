"""The command ``joust``."""

from __future__ import annotations

import os
import sys

from ._program import MAIN, NODE


def main() -> None:
    """Becomes the server's program, so that signals and the exit code are the server's own."""
    os.execv(NODE, [os.fspath(NODE), os.fspath(MAIN), *sys.argv[1:]])
