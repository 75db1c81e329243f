"""Tests the command `joust` that pip installed."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

JOUST = Path(sys.executable).with_name("joust")
# An empty PATH, so that only the Node of the package can run.
ENVIRONMENT = {"HOME": os.environ["HOME"], "PATH": ""}


def test_version_prints_the_engine_and_the_node_of_the_package():
    answer = subprocess.run([JOUST, "--version"], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert re.match(r"joust \d+\.\d+\.\d+\nengine \d+\.\d+\.\d+, lance \d+", answer.stdout)
    assert re.search(r"HTTP (uWebSockets\.js [\d.]+|Node 24\.[\d.]+)", answer.stdout)


def test_serve_answers_and_stops_at_sigterm(tmp_path):
    server = subprocess.Popen(
        [JOUST, "serve", tmp_path / "data", "--port", "0"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        url = next(line.split()[-1] for line in server.stdout if line.startswith("joust listening on"))
        with urllib.request.urlopen(f"{url}/healthz") as answer:
            assert json.load(answer) == {"status": "ok"}
        with urllib.request.urlopen(f"{url}/docs") as answer:
            assert b"swagger" in answer.read()
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0


def test_an_unknown_command_exits_with_2():
    answer = subprocess.run([JOUST, "sevre"], env=ENVIRONMENT, capture_output=True, text=True)
    assert answer.returncode == 2
    assert "sevre is not a command" in answer.stderr
