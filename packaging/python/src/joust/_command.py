"""The command ``joust``."""

from __future__ import annotations

import os
import sys

from ._program import MAIN, NODE


def main() -> None:
    """Replaces this process by the server, which receives the signals and sets the exit code."""
    os.execv(NODE, [os.fspath(NODE), os.fspath(MAIN), *sys.argv[1:]])
