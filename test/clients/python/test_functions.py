"""Python functions compute virtual columns in processes of the server."""

import base64
import hashlib
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import cloudpickle
import pyarrow as pa
import pytest
from data import items
from function_columns import FunctionColumns
from joust_server import JoustServer, TemporaryRoot
from rows import values
from waiting import wait_for

import lancedb
from lancedb.index import BTree

FLOAT = {"type": "float64"}
TEXT = {"type": "utf8"}
INTEGER = {"type": "int64"}


@pytest.fixture(scope="module")
def server():
    options = [
        *("--functions", "subprocess", "--python", sys.executable),
        *("--function-memory", "1GiB", "--function-timeout", "3s", "--function-cpu-time", "2s"),
        *("--function-env", "GREETING=hello", "--auto-refresh-interval", "1s"),
    ]
    with TemporaryRoot() as root, JoustServer(root, arguments=options) as running:
        yield running


@pytest.fixture
def columns(server, table):
    return FunctionColumns(server, table.name)


def test_a_function_gets_rows(table, columns):
    def label(id, name):
        return f"{id}: {name}" if id != 3 else None

    columns.declare("label", label, ["id", "name"], TEXT)
    assert set(values(table, "label").values()) == {None}
    result = columns.fill("label")
    assert (result["rows_assigned"], result["rows_failed"], result["rows_remaining"]) == (9, 0, 0)
    assert values(table, "label") == {i: f"{i}: item {i}" if i != 3 else None for i in range(10)}


def test_a_function_gets_arrays(table, columns):
    source = """
import pyarrow.compute as pc

def total(price: pa.Array, id: pa.Array) -> pa.Array:
    return pc.add(price, id)
"""
    columns.declare("total", source, ["price", "id"], FLOAT, entry="total")
    columns.fill("total")
    assert values(table, "total") == {i: i * 1.5 for i in range(10)}


def test_a_function_gets_batches_and_returns_numpy_vectors(database, columns, name):
    database.create_table(f"{name}_large", items(20_000))
    large = FunctionColumns(columns.server, f"{name}_large")
    source = """
import numpy as np

def embed(batch: pa.RecordBatch) -> np.ndarray:
    ids = batch["id"].to_numpy()
    return np.stack([ids, ids * 2, ids * 3], axis=1).astype(np.float32)
"""
    vector = {"type": "fixed_size_list", "length": 3, "fields": [float_item()]}
    large.declare("embedding", source, ["id"], vector, entry="embed")
    assert large.fill("embedding")["rows_assigned"] == 20_000
    opened = database.open_table(f"{name}_large")
    found = opened.search([7, 14, 21], "embedding").limit(1).to_list()
    assert (found[0]["id"], found[0]["_distance"]) == (7, 0)
    assert opened.count_rows("embedding is null") == 0


@pytest.mark.parametrize("kind", ["float64", "float32", ">f8", "int64", "strided", "masked"])
def test_a_function_returns_numpy_numbers(table, columns, kind):
    source = f"""
import numpy as np

def halves(id: pa.Array) -> np.ndarray:
    ids = np.array(id.to_pylist())
    if {kind!r} == "strided":
        return np.repeat(ids, 2)[::2] / 2
    if {kind!r} == "masked":
        return np.ma.masked_array(ids, ids == 4) / 2
    return (ids / 2).astype({kind!r})
"""
    columns.declare("half", source, ["id"], FLOAT, entry="halves")
    columns.fill("half")
    half = (lambda i: i // 2) if kind == "int64" else (lambda i: i / 2)
    expected = {i: half(i) for i in range(10)}
    if kind == "masked":
        expected[4] = None
    assert values(table, "half") == expected


def test_a_function_that_returns_vectors_of_numpy_does_not_import_pandas(table, columns):
    source = """
import sys
import numpy as np

def is_imported(id: pa.Array) -> np.ndarray:
    return np.full((len(id), 2), "pandas" in sys.modules, np.float32)
"""
    vector = {"type": "fixed_size_list", "length": 2, "fields": [float_item()]}
    columns.declare("pandas", source, ["id"], vector, entry="is_imported")
    # The first call has 8 of the 10 rows.
    columns.fill("pandas")
    assert {tuple(one) for one in values(table, "pandas").values()} == {(0, 0)}


def test_a_class_is_created_once_for_each_process(table, columns):
    class Model:
        def __init__(self):
            self.created = True
            self.calls = 0

        def __call__(self, id):
            self.calls += 1
            return self.calls

    columns.declare("calls", Model, ["id"], INTEGER)
    columns.fill("calls")
    assert sorted(values(table, "calls").values()) == list(range(1, 11))


def test_the_payload_of_a_lancedb_client_runs(table, columns):
    pickled = base64.b64encode(cloudpickle.dumps(lambda price: price * 4)).decode()
    checksum = hashlib.sha256(base64.b64decode(pickled)).hexdigest()
    envelope = {"image": "repo/image:1", "tag": "1", "udf_pickle": pickled, "udf_checksum": checksum}
    declaration = {
        "input_columns": ["price"],
        "data_type": FLOAT,
        "udf": base64.b64encode(json.dumps(envelope).encode()).decode(),
        "udf_name": "quadruple",
        "udf_version": "v1",
        "udf_backend": "DockerUDFSpecV1",
    }
    columns.add("four", declaration)
    columns.fill("four")
    assert values(table, "four") == {i: i * 2.0 for i in range(10)}
    plain = base64.b64encode(pickle.dumps(abs)).decode()
    columns.add("positive", {**declaration, "udf": plain})
    columns.fill("positive")
    assert values(table, "positive")[4] == 2.0


@pytest.mark.parametrize(
    ("parameter", "result"),
    [
        ("name", "one(name)"),
        ("names: pa.Array", "[one(name) for name in names.to_pylist()]"),
        ("names: pa.Array", "pa.array([one(name) for name in names.to_pylist()])"),
        (
            "batch: pa.RecordBatch",
            "pa.RecordBatch.from_pylist([one(n) for n in batch['name'].to_pylist()])",
        ),
    ],
    ids=["dict", "dicts", "structs", "batch"],
)
def test_outputs_are_fields_of_a_struct(table, columns, parameter, result):
    source = f"""
import pyarrow as pa

def one(name):
    word, number = name.split()
    return {{"w": word, "n": int(number)}}

def split({parameter}):
    return {result}
"""
    columns.add(
        "parts",
        {
            "input_columns": ["name"],
            "python": {"source": source, "entry": "split"},
            "outputs": [
                {"column": "word", "struct_field": "w", "data_type": TEXT},
                {"column": "number", "struct_field": "n", "data_type": INTEGER},
            ],
        },
    )
    columns.fill("word")
    columns.fill("number")
    assert (values(table, "word")[8], values(table, "number")[8]) == ("item", 8)


@pytest.mark.parametrize(
    "source",
    [
        "def ratio(id):\n    return 10 / (id % 5)",
        "def ratio(id: pa.Array) -> list:\n    return [10 / (i.as_py() % 5) for i in id]",
    ],
    ids=["rows", "arrays"],
)
def test_rows_that_raise_are_null_and_listed(table, columns, source):
    columns.declare("ratio", source, ["id"], FLOAT, entry="ratio", udf_version="7")
    result = columns.fill("ratio")
    assert (result["rows_assigned"], result["rows_failed"]) == (8, 2)
    found = values(table, "ratio")
    assert [found[i] for i in (0, 1, 5, 9)] == [None, 10, None, 2.5]
    assert columns.errors("ratio") == dict.fromkeys([0, 5], "ZeroDivisionError: division by zero")
    body = {"column": "ratio"}
    record = columns.post(f"/v1/table/{columns.table}/errors", body)["records"][0]
    assert (record["function"], record["function_version"]) == ("ratio", "7")
    assert record["error_type"] == "ZeroDivisionError"


def test_memory_that_a_function_uses_again_is_copied(table, columns):
    source = """
import numpy as np
import pyarrow as pa

class Doubles:
    def __init__(self):
        self.out = np.empty(100, np.float64)

    def __call__(self, id: pa.Array):
        numbers = id.to_numpy()
        if 4 in numbers:
            raise ValueError("four")
        self.out[: len(numbers)] = numbers * 2
        return self.out[: len(numbers)]

class Pair:
    def __init__(self):
        self.out = np.empty(2, np.float32)

    def __call__(self, id):
        self.out[:] = id, id + 1
        return self.out
"""
    columns.declare("doubled", source, ["id"], FLOAT, entry="Doubles")
    columns.fill("doubled")
    found = values(table, "doubled")
    assert found == {i: None if i == 4 else i * 2.0 for i in range(10)}
    pair = {"type": "fixed_size_list", "length": 2, "fields": [float_item()]}
    columns.declare("pair", source, ["id"], pair, entry="Pair")
    columns.fill("pair")
    assert values(table, "pair") == {i: [i, i + 1] for i in range(10)}


def test_values_of_another_type_fail_alone(table, columns):
    source = "def length(id):\n    return 'long' if id == 4 else id"
    columns.declare("length", source, ["id"], INTEGER, entry="length")
    assert columns.fill("length")["rows_failed"] == 1
    assert list(columns.errors("length")) == [4]
    source = "def short(id: pa.Array) -> pa.Array:\n    return id[:-1]"
    columns.declare("short", source, ["id"], INTEGER, entry="short")
    assert columns.fill("short")["rows_failed"] == 10
    assert "returned 0 values for 1 rows" in columns.errors("short")[0]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("os._exit(9)", "its process ended with exit code 9"),
        ("os.kill(os.getpid(), 11)", "its process was ended by signal 11"),
        ("time.sleep(60)", r"longer than 3000 ms \(--function-timeout\)"),
        ("while True: pass", "more CPU time than --function-cpu-time|longer than 3000"),
        ("bytearray(4 << 30)", "MemoryError"),
    ],
    ids=["exit", "signal", "time", "loop", "memory"],
)
def test_a_row_beyond_a_limit_fails_alone(table, columns, statement, message):
    source = f"""
import os, time

def risky(id):
    if id == 6:
        {statement}
    return id
"""
    columns.declare("risky", source, ["id"], INTEGER, entry="risky")
    result = columns.fill("risky")
    assert (result["rows_assigned"], result["rows_failed"]) == (9, 1)
    errors = columns.errors("risky")
    assert list(errors) == [6]
    assert re.search(message, errors[6]), errors
    assert values(table, "risky") == {i: i if i != 6 else None for i in range(10)}


def test_some_rows_may_end_the_process(table, columns):
    source = "import os\n\ndef f(id):\n    if id % 3 == 0:\n        os._exit(1)\n    return id"
    columns.declare("risky", source, ["id"], INTEGER, entry="f")
    assert columns.fill("risky")["rows_failed"] == 4
    assert list(columns.errors("risky")) == [0, 3, 6, 9]
    assert [values(table, "risky")[i] for i in (0, 1, 8, 9)] == [None, 1, 8, None]


def test_values_and_messages_without_an_equivalent_in_python(database, columns, name):
    days = pa.array([0, 1, 4_000_000], pa.int32()).cast(pa.date32())
    database.create_table(f"{name}_days", pa.table({"id": [0, 1, 2], "day": days}))
    other = FunctionColumns(columns.server, f"{name}_days")
    source = """
def f(id, day):
    if id == 1:
        raise ValueError(chr(0xD83D))
    return day.year
"""
    other.declare("year", source, ["id", "day"], INTEGER, entry="f")
    assert other.fill("year")["rows_failed"] == 2
    assert values(database.open_table(f"{name}_days"), "year") == {0: 1970, 1: None, 2: None}
    assert other.errors("year")[1] == "ValueError: ?"
    assert "OverflowError" in other.errors("year")[2]


def test_arguments_are_found_as_sql_finds_columns(database, columns, name):
    address = pa.array([{"City": "Oslo"}, None, {"City": None}])
    rows = pa.table({"id": [0, 1, 2], "Address": address, "Name": ["a", "b", "c"]})
    database.create_table(f"{name}_paths", rows)
    other = FunctionColumns(columns.server, f"{name}_paths")
    inputs = ["ADDRESS.city", "`name`"]
    other.declare("text", "def f(city, name): return f'{city} {name}'", inputs, TEXT, entry="f")
    other.fill("text")
    opened = database.open_table(f"{name}_paths")
    assert values(opened, "text") == {0: "Oslo a", 1: "None b", 2: "None c"}


FORMS = {
    "text": """from __future__ import annotations
import pyarrow as pa
def f(id: pa.Array) -> Unknown: return id""",
    "optional": """from typing import Optional
def f(id: Optional[pa.Array]): return id""",
    "partial": """import functools
def g(one, id: pa.Array): return id
f = functools.partial(g, 1)""",
    "dataclass": """import dataclasses
@dataclasses.dataclass
class f:
    n: int = 0
    def __call__(self, id): return id + self.n""",
    "attribute": """class f:
    func = str
    def __call__(self, id): return id""",
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_functions(table, columns, form):
    columns.declare("n", FORMS[form], ["id"], INTEGER, entry="f")
    assert columns.fill("n")["rows_failed"] == 0
    assert values(table, "n")[4] == 4


def test_columns_that_functions_cannot_read_are_named(database, columns, name):
    meta = {"ARROW:extension:name": "arrow.json"}
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("doc", pa.string(), metadata=meta)])
    database.create_table(f"{name}_json", pa.table({"id": [1], "doc": ["{}"]}, schema=schema))
    other = FunctionColumns(columns.server, f"{name}_json")
    other.declare("n", "def f(doc): return 1", ["doc"], INTEGER, entry="f")
    assert "column `doc` has JSON or blobs" in other.refusal("n")


def test_what_a_function_prints_does_no_harm(table, columns):
    source = "import os\n\ndef loud(id):\n    print('x' * 1000)\n    os.write(1, b'y')\n    return id"
    columns.declare("loud", source, ["id"], INTEGER, entry="loud")
    columns.fill("loud")
    assert values(table, "loud")[9] == 9


def test_a_function_gets_no_secrets_and_no_network(table, columns, server):
    source = f"""
import os, socket

def look(id):
    if id == 0:
        return ",".join(sorted(os.environ)) + ":" + os.environ["GREETING"]
    if id == 1:
        return str(sorted(os.listdir(".")))
    try:
        socket.create_connection(("127.0.0.1", {server.sql_port}), 1).close()
        return "connected"
    except OSError as error:
        return "no network"
"""
    columns.declare("seen", source, ["id"], TEXT, entry="look")
    columns.fill("seen")
    found = values(table, "seen")
    names, greeting = found[0].split(":")
    assert set(names.split(",")) <= {"GREETING", "HOME", "LANG", "LC_CTYPE", "PATH", "TMPDIR"}
    # docs/functions.md: where the system forbids network namespaces, functions have a network.
    network = "no network" if can_leave_network() else "connected"
    assert (greeting, found[1], found[2]) == ("hello", "[]", network)


def test_cancelling_a_backfill_ends_its_process(tmp_path):
    marker = tmp_path / "pid"
    source = f"""
import os, time

def slow(id):
    open({str(marker)!r}, "w").write(str(os.getpid()))
    time.sleep(600)
"""
    options = ["--functions", "subprocess", "--python", sys.executable, "--function-timeout", "1h"]
    with TemporaryRoot() as root, JoustServer(root, arguments=options) as server:
        database = lancedb.connect("db://joust", api_key=server.key, host_override=server.url)
        database.create_table("t", items(10))
        columns = FunctionColumns(server, "t")
        columns.declare("slow", source, ["id"], INTEGER, entry="slow")
        job = columns.start("slow")
        pid = int(wait_for(lambda: marker.exists() and marker.read_text()))
        assert is_running(pid)
        columns.post("/v1/jobs/cancel", {"job_id": job})
        assert columns.ended(job)["job_state"] == "CANCELLED"
        wait_for(lambda: not is_running(pid))


def test_rows_that_change_in_place_during_a_backfill_are_computed_again(table, columns, tmp_path):
    marker = tmp_path / "started"
    source = f"""
import time

def f(name):
    open({str(marker)!r}, "w").close()
    time.sleep(0.3)
    return name.upper()
"""
    table.create_index("id", config=BTree())
    columns.declare("loud", source, ["name"], TEXT, entry="f", auto_backfill=True)
    wait_for(marker.exists)
    # Lance writes the names beside the other columns of the same rows.
    names = pa.table({"id": pa.array(range(10), pa.int64()), "name": ["new"] * 10})
    table.merge_insert("id").when_matched_update_all().execute(names)
    wait_for(lambda: set(values(table, "loud").values()) == {"NEW"})


def slow_source(log, seconds):
    """A function that returns its argument, and writes it to a file with the id of its process."""
    return f"""
import os, time

def slow(id):
    time.sleep({seconds})
    with open({str(log)!r}, "a") as file:
        file.write(f"{{id}} {{os.getpid()}}\\n")
    return id
"""


def calls_in(log):
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


@contextmanager
def slow_column(log):
    """A server with 24 rows in six fragments, and a column `n` that a slow function computes."""
    options = ["--functions", "subprocess", "--python", sys.executable, "--maintenance", "off"]
    with TemporaryRoot() as root, JoustServer(root, arguments=options) as server:
        database = lancedb.connect("db://joust", api_key=server.key, host_override=server.url)
        table = database.create_table("t", items(4))
        for fragment in range(1, 6):
            table.add(items(4, start=fragment * 4))
        columns = FunctionColumns(server, "t")
        columns.declare("n", slow_source(log, 0.5), ["id"], INTEGER, entry="slow")
        yield root, server, columns


def test_a_killed_server_continues_with_the_fragments_that_it_has_computed(tmp_path):
    log = tmp_path / "calls"
    with slow_column(log) as (root, server, columns):
        job = columns.start("n", concurrency=1)
        calls = lambda: calls_in(log)
        wait_for(lambda: len(calls()) >= 10)
        server.kill()
        process = int(calls()[-1][1])
        wait_for(lambda: not is_running(process))
        before = len(calls())
        server.__enter__()
        ended = columns.ended(job)
        assert ended["job_state"] == "DONE", ended
        assert ended["result"]["rows_assigned"] == 24
        again = [int(id) for id, _ in calls()[before:]]
        # The first fragment at least was in the checkpoint.
        assert len(again) <= 20 and not {0, 1, 2, 3} & set(again)
        database = lancedb.connect("db://joust", api_key=server.key, host_override=server.url)
        assert values(database.open_table("t"), "n") == {i: i for i in range(24)}
        left = Path(root, "t.lance", "_backfills").iterdir()
        assert all(one.suffix == ".committing" for one in left)


def test_a_restore_during_a_backfill_wins(table, columns, tmp_path):
    marker = tmp_path / "started"
    source = f"""
import time

def f(name):
    open({str(marker)!r}, "w").close()
    time.sleep(0.1)
    return name.upper()
"""
    columns.declare("loud", source, ["name"], TEXT, entry="f")
    before = table.version
    count = table.count_rows()
    table.delete("id % 2 = 0")
    table.add(items(3, start=1000))
    job = columns.start("loud")
    wait_for(marker.exists)
    table.restore(before)
    ended = columns.ended(job)
    assert ended["job_state"] == "DONE", ended
    table.checkout_latest()
    assert table.count_rows() == count
    names = values(table, "name")
    assert values(table, "loud") == {id: name.upper() for id, name in names.items()}


def test_rows_that_a_restore_brings_back_are_computed(table, columns, tmp_path):
    log = tmp_path / "calls"
    columns.declare("n", slow_source(log, 0.05), ["id"], INTEGER, entry="slow")
    table.add(items(20, start=1000))
    before = table.version
    ids = set(values(table, "name"))
    table.delete("id = 1")
    job = columns.start("n", concurrency=1)
    # The fragment of the deleted row is computed.
    wait_for(lambda: any(int(id) >= 1000 for id, _ in calls_in(log)))
    table.restore(before)
    # The fragment has deletions again, and they are younger: those of another row.
    table.delete("id = 2")
    ended = columns.ended(job)
    assert ended["job_state"] == "DONE", ended
    table.checkout_latest()
    assert values(table, "n") == {id: id for id in ids - {2}}


def test_deleted_computed_files_are_computed_again(tmp_path):
    log = tmp_path / "calls"
    with slow_column(log) as (root, server, columns):
        data = Path(root, "t.lance", "data")
        named = {path.name for path in data.iterdir()}
        columns.start("n", concurrency=1)
        wait_for(lambda: len(calls_in(log)) >= 14)
        server.kill()
        computed = [path for path in data.iterdir() if path.name not in named]
        assert len(computed) >= 3
        for path in computed:
            path.unlink()
        server.__enter__()
        database = lancedb.connect("db://joust", api_key=server.key, host_override=server.url)
        opened = database.open_table("t")
        wait_for(lambda: opened.count_rows("n is not null") == 24)
        assert values(opened, "n") == {i: i for i in range(24)}


@pytest.mark.parametrize(
    ("source", "requirements", "message"),
    [
        ("import no_such_package", [], "the Python package no_such_package is missing: install it"),
        ("def f(id): return id", ["no-such-package>=2"], "it requires no-such-package>=2: install"),
        ("def f(id): return id", ["pyarrow>=999"], r"it requires pyarrow>=999 \(installed: "),
        ("def g(id): return id", [], "its source defines no function or class f"),
        ("def f(id) return id", [], "SyntaxError"),
        ("raise SystemExit(3)", [], "ended with exit code 3"),
        ("class f:\n    def __init__(self):\n        raise ValueError('no model')", [], "no model"),
    ],
)
def test_a_function_that_cannot_be_loaded_fails_the_job(
    columns, source, requirements, message
):
    columns.declare("v", source, ["id"], INTEGER, entry="f", requirements=requirements)
    failure = columns.failure("v")
    assert "the function `f` could not be loaded" in failure
    assert re.search(message, failure), failure


def test_a_process_that_is_killed_while_it_loads_is_replaced(table, columns, tmp_path):
    marker = tmp_path / "pid"
    source = f"""
import os, time

if not os.path.exists({str(marker)!r}):
    with open({str(marker)!r}, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(600)

def f(id): return id
"""
    columns.declare("v", source, ["id"], INTEGER, entry="f")
    job = columns.start("v", concurrency=1)
    pid = int(wait_for(lambda: marker.exists() and marker.read_text()))
    os.kill(pid, signal.SIGKILL)
    assert columns.ended(job)["job_state"] == "DONE"
    assert values(table, "v") == {i: i for i in range(10)}


def test_a_damaged_payload_is_not_run(server, columns):
    columns.declare("v", "def f(id): return id", ["id"], INTEGER, entry="f")
    [payload] = Path(server.root, f"{columns.table}.lance", "_udfs").iterdir()
    payload.write_text(payload.read_text().replace("return id", "return 1"))
    assert "its file is damaged" in columns.failure("v")
    payload.unlink()
    assert "is missing in the table: declare the column or the view again" in columns.failure("v")


def test_a_condition_selects_rows(table, columns):
    columns.declare("n", "def f(id): return id + 1", ["id"], INTEGER, entry="f")
    assert columns.fill("n", where="id >= 8")["rows_assigned"] == 2
    assert values(table, "n") == {**dict.fromkeys(range(8)), 8: 9, 9: 10}


def test_a_request_bounds_the_rows_of_a_call(database, columns, name):
    database.create_table(f"{name}_bounded", items(1_000))
    bounded = FunctionColumns(columns.server, f"{name}_bounded")
    opened = database.open_table(f"{name}_bounded")

    def sizes(column: str, **options) -> list[int]:
        source = "def f(id: pa.Array): return [len(id)] * len(id)"
        bounded.declare(column, source, ["id"], INTEGER, entry="f")
        bounded.fill(column, **options)
        return sorted(set(values(opened, column).values()))

    assert max(sizes("free")) > 100
    assert max(sizes("most", checkpoint_size=20, max_checkpoint_size=30)) == 20
    # 1,000 rows are 142 calls of 7, and the rest.
    assert sizes("fixed", min_checkpoint_size=7, max_checkpoint_size=7) == [6, 7]
    with pytest.raises(AssertionError, match="400.*must not be greater"):
        bounded.start("fixed", min_checkpoint_size=8, checkpoint_size=7)


def test_new_and_changed_rows_are_computed_by_themselves(table, columns):
    columns.declare(
        "shout", "def f(name): return name.upper()", ["name"], TEXT, entry="f", auto_backfill=True
    )
    wait_for(lambda: table.count_rows("shout is null") == 0)
    table.add(items(5, start=10))
    wait_for(lambda: table.count_rows("shout is null") == 0)
    table.update(where="id = 3", values={"name": "other"})
    wait_for(lambda: values(table, "shout")[3] == "OTHER")
    assert values(table, "shout")[12] == "ITEM 12"


def test_unchanged_rows_are_not_computed_again_after_a_compaction(table, columns, tmp_path):
    log = tmp_path / "calls"
    log.write_text("")
    source = f"""
def f(id, name):
    with open({str(log)!r}, "a") as file:
        file.write(f"{{id}}\\n")
    return name.upper()
"""
    columns.declare("loud", source, ["id", "name"], TEXT, entry="f", auto_backfill=True)
    for fragment in range(1, 4):
        table.add(items(10, start=fragment * 10))
    wait_for(lambda: table.count_rows("loud is null") == 0)
    calls = lambda: sorted(int(line) for line in log.read_text().splitlines())
    assert set(calls()) == set(range(40))
    log.write_text("")
    compaction = columns.post(f"/v1/table/{table.name}/compact", {})["job_id"]
    assert columns.ended(compaction)["job_state"] == "DONE"
    table.update(where="id = 5", values={"name": "changed"})
    table.add(items(1, start=40))
    wait_for(lambda: values(table, "loud").get(40) == "ITEM 40")
    found = values(table, "loud")
    assert (found[5], found[6], found[39]) == ("CHANGED", "ITEM 6", "ITEM 39")
    assert set(calls()) == {5, 40}


def test_a_clone_has_the_function(database, table, columns, name):
    columns.declare("n", "def f(id): return id + 1", ["id"], INTEGER, entry="f")
    location = columns.post(f"/v1/table/{table.name}/describe", {})["location"]
    columns.post(f"/v1/table/{name}_clone/clone", {"source_location": location})
    FunctionColumns(columns.server, f"{name}_clone").fill("n")
    assert values(database.open_table(f"{name}_clone"), "n")[4] == 5
    assert table.count_rows("n is null") == 10


def test_a_branch_runs_the_functions_of_its_source(table, columns):
    columns.declare("n", "def f(id): return id + 1", ["id"], INTEGER, entry="f")
    columns.post(f"/v1/table/{table.name}/branches/create", {"name": "dev"})
    assert columns.fill("n", branch="dev")["rows_assigned"] == 10
    assert table.count_rows("n is null") == 10


def test_the_interpreter_is_found_in_the_path_of_the_server(monkeypatch):
    directory = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
    options = ["--functions", "subprocess", "--python", Path(sys.executable).name]
    with TemporaryRoot() as root, JoustServer(root, arguments=options) as server:
        database = lancedb.connect("db://joust", api_key=server.key, host_override=server.url)
        table = database.create_table("t", items(3))
        columns = FunctionColumns(server, "t")
        source = "import sys\n\ndef f(id): return sys.executable"
        columns.declare("n", source, ["id"], TEXT, entry="f")
        columns.fill("n")
        assert set(values(table, "n").values()) == {sys.executable}


def test_a_server_without_functions_says_so():
    with TemporaryRoot() as root, JoustServer(root) as server:
        database = lancedb.connect("db://joust", api_key=server.key, host_override=server.url)
        database.create_table("t", items(3))
        columns = FunctionColumns(server, "t")
        columns.declare("n", "def f(id): return id", ["id"], INTEGER, entry="f")
        assert "start it with --functions subprocess" in columns.failure("n")


def float_item() -> dict:
    return {"name": "item", "type": {"type": "float32"}, "nullable": True}


def can_leave_network() -> bool:
    for flags in (["--net"], ["--user", "--net"]):
        if subprocess.run(["unshare", *flags, "true"], stderr=subprocess.DEVNULL).returncode == 0:
            return True
    return False


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    # Z: ended, and not yet reaped.
    return state != "Z"
