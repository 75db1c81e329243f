"""The Python code of README.md works as described."""

import re

import pytest
from joust_server import REPOSITORY

BLOCKS = re.findall(r"^```python\n(.*?)^```", (REPOSITORY / "README.md").read_text(), re.M | re.S)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_block(server, block, capsys):
    code = block.replace("http://127.0.0.1:2333", server.url).replace("try-me", server.key)
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "'red'" in printed if "search" in block else "colours" in printed
