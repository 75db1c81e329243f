"""Tests joust.Server with the unmodified LanceDB SDK."""

import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
import time

import joust
import lancedb
import pytest

ROWS = [
    {"name": "red", "vector": [1.0, 0.0, 0.0]},
    {"name": "orange", "vector": [1.0, 0.6, 0.0]},
    {"name": "blue", "vector": [0.0, 0.0, 1.0]},
]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def ends_soon(pid: int, seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_running(pid)


def test_lancedb_creates_and_searches_a_persistent_table(tmp_path):
    with joust.Server(tmp_path / "data") as server:
        table = lancedb.connect(**server.lancedb()).create_table("colours", ROWS)
        rows = table.search([0.9, 0.1, 0.0]).limit(2).to_list()
        assert [row["name"] for row in rows] == ["red", "orange"]
        table.add([{"name": "green", "vector": [0.0, 1.0, 0.0]}])
    with joust.Server(tmp_path / "data") as server:
        table = lancedb.connect(**server.lancedb()).open_table("colours")
        assert table.count_rows() == 4
        assert table.search([0.0, 1.0, 0.1]).limit(1).to_list()[0]["name"] == "green"


def test_without_a_root_the_tables_are_temporary(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with joust.Server() as server:
        lancedb.connect(**server.lancedb()).create_table("colours", ROWS)
        assert len(list(tmp_path.glob("joust-*"))) == 1
    assert list(tmp_path.iterdir()) == []


def test_it_works_in_a_running_event_loop_as_in_a_notebook():
    async def cell():
        with joust.Server() as server:
            db = await lancedb.connect_async(**server.lancedb())
            table = await db.create_table("colours", ROWS)
            return await table.count_rows()

    assert asyncio.run(cell()) == 3


def test_two_servers_run_concurrently_and_restart():
    with joust.Server() as one, joust.Server() as other:
        assert one.url != other.url
        assert one.start() is one
        pid = one.pid
        one.stop()
        one.stop()
        assert ends_soon(pid) and one.pid is None and other.running
        assert one.start().pid != pid


def test_another_key_is_rejected():
    with joust.Server(api_key="mine") as server:
        assert server.lancedb()["api_key"] == "mine"
        db = lancedb.connect(**{**server.lancedb(), "api_key": "yours"})
        with pytest.raises(Exception, match="401"):
            db.list_tables() if hasattr(db, "list_tables") else db.table_names()


def test_an_exception_in_the_block_stops_the_server():
    with pytest.raises(KeyError), joust.Server() as server:
        pid = server.pid
        assert is_running(pid)
        raise KeyError("a user's mistake")
    assert not is_running(pid)


def test_garbage_collection_stops_the_server():
    server = joust.Server().start()
    pid = server.pid
    del server
    gc.collect()
    assert ends_soon(pid)


@pytest.mark.parametrize(
    "end",
    [
        pytest.param("sys.exit(3)", id="exit"),
        pytest.param("raise ValueError('a bug')", id="exception"),
        pytest.param("os.kill(os.getpid(), signal.SIGKILL)", id="kill"),
    ],
)
def test_the_end_of_the_interpreter_stops_the_server(end):
    code = f"import joust, os, signal, sys\ns = joust.Server().start()\nprint(s.pid, flush=True)\n{end}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode != 0
    assert ends_soon(int(run.stdout))


def test_ctrl_c_does_not_reach_the_server():
    code = (
        "import joust, os, signal\ns = joust.Server().start()\nprint(s.pid, flush=True)\n"
        "try:\n    os.killpg(0, signal.SIGINT)\nexcept KeyboardInterrupt:\n    pass\n"
        "import time; time.sleep(1)\nprint(s.running)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, start_new_session=True
    )
    assert run.stdout.splitlines()[-1] == "True", run.stderr


def test_a_wrong_option_raises_with_the_message_of_the_server():
    with pytest.raises(joust.ServerError, match="did you mean --memory") as failure:
        joust.Server(memroy="1GiB").start()
    assert any("--memroy is not an option" in line for line in failure.value.log)


def test_a_port_in_use_raises_with_the_message_of_the_server():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(joust.ServerError, match=str(port)):
            joust.Server(port=port).start()


def test_a_start_timeout_raises_and_stops_the_server(tmp_path):
    server = joust.Server(startup_timeout=0.01)
    with pytest.raises(joust.ServerError, match="not ready within 0.01 s"):
        server.start()
    assert not server.running


def test_a_crash_is_reported_at_the_next_use():
    with joust.Server() as server:
        os.kill(server.pid, signal.SIGKILL)
        while server.running:
            time.sleep(0.01)
        with pytest.raises(joust.ServerError, match="does not run"):
            server.lancedb()


def test_options_are_keyword_arguments(tmp_path):
    (tmp_path / "data").mkdir()
    with joust.Server(tmp_path / "data") as server:
        lancedb.connect(**server.lancedb()).create_table("colours", ROWS)
    with joust.Server(tmp_path / "data", prewarm=["colours"], maintenance=False, log_level="debug") as server:
        assert any('"level":20' in line or '"level":"debug"' in line for line in server.log)
        assert lancedb.connect(**server.lancedb()).open_table("colours").count_rows() == 3


def test_a_value_of_an_unsupported_type_is_a_type_error():
    with pytest.raises(TypeError, match="memory must be a string"):
        joust.Server(memory=object())
