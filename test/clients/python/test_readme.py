"""The Python code of README.md works as described."""

import re
import shlex
import subprocess
import sys

import pytest
from joust_server import REPOSITORY, JoustServer, TemporaryRoot


def blocks(language: str) -> list[str]:
    text = (REPOSITORY / "README.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


PLAIN = [block for block in blocks("python") if "virtual_column" not in block]
[EMBEDDINGS] = [block for block in blocks("python") if "virtual_column" in block]
[INSTALLATION] = [block for block in blocks("sh") if "--functions" in block]


def for_server(block: str, server: JoustServer) -> str:
    return block.replace("http://127.0.0.1:2333", server.url).replace("try-me", server.key)


@pytest.mark.parametrize("block", PLAIN, ids=range(len(PLAIN)))
def test_block(server, block, capsys):
    exec(compile(for_server(block, server), "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "'red'" in printed if "search" in block else "colours" in printed


@pytest.mark.since("0.40")
def test_embeddings_compute_themselves(tmp_path):
    *install, start = INSTALLATION.splitlines()
    for command in install:
        subprocess.run(command, shell=True, cwd=tmp_path, check=True)
    command, options = start.split(" -- ")
    assert command == "JOUST_API_KEY=try-me npm start"
    options = [*shlex.split(options), "--auto-refresh-interval", "1s"]
    python = str(tmp_path / "functions" / "bin" / "python")
    options = [python if option == "functions/bin/python" else option for option in options]
    with TemporaryRoot() as root, JoustServer(root, arguments=options) as server:
        code = for_server(EMBEDDINGS, server)
        run = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=120)
    sys.stderr.write(run.stderr)
    found = re.findall(r"'text': '([^']*)'", run.stdout)
    assert found == ["A kitten plays with wool", "The cat sleeps"]
