"""pytest plugin that points LanceDB's own Python suite at joust.

With JOUST_SUITE_DATABASES (the address of databases.mjs) every connection to a local path or to
``memory://`` becomes a remote connection to a joust server of that test. Without it the suite runs on
local LanceDB. Either way JOUST_SUITE_REPORT names a JSON file: for each test its outcome, why it failed,
and whether it opened a database.

Only the connection is replaced. The tests, the SDK's Python classes and its Rust client are unmodified,
with three exceptions:

- ``create_index`` waits for the job that it started, because local LanceDB builds before it returns.
- ``optimize``, which the SDK refuses on a remote table, waits until the server's maintenance has brought the
  indexes up to date.
- An ``HttpError`` is a ``ValueError`` too, which is what local LanceDB raises for the same mistake.
"""

import asyncio
import json
import os
import re
import time
import urllib.request
from pathlib import Path

import lancedb
import lancedb.db
import lancedb.remote.errors
import lancedb.table
import pytest
from lancedb.background_loop import LOOP

DATABASES = os.environ.get("JOUST_SUITE_DATABASES")
REPORT = os.environ.get("JOUST_SUITE_REPORT")
EXCLUDED = Path(__file__).resolve().parents[1] / "excluded.json"
SESSION = "session"
# The server indexes new rows of a quiet table within ten seconds.
OPTIMIZE_SECONDS = 20

_owner = SESSION
_wider = 0
_connected = set()
_memory = 0
_results = {}
# What the SDK opens a second time by the URI of a connection.
_lent = {}


def _ask(path, body):
    request = urllib.request.Request(
        f"{DATABASES}{path}", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.load(response)


def _is_local(uri):
    scheme, separator, _ = uri.partition("://")
    return not separator or scheme in ("file", "memory")


def _replace_connect(module):
    native = module.lancedb_connect

    def connect(uri, *rest, **named):
        global _memory
        if uri in _lent:
            return native(uri, *_lent[uri], *rest[3:], **named)
        if not _is_local(uri):
            return native(uri, *rest, **named)
        _connected.add(_owner)
        if DATABASES is None:
            return native(uri, *rest, **named)
        if uri.startswith("memory://"):
            _memory += 1
            uri = f"{uri}{_memory}"
        owner = SESSION if _wider else _owner
        database = _ask("/lend", {"owner": owner, "name": uri.removeprefix("file://").rstrip("/")})
        # The native function takes the API key, the region and the host after the URI.
        remote = [database["key"], "us-east-1", database["url"]]
        os.environ["LANCEDB_API_KEY"] = database["key"]
        uri = f"db://suite-{len(_lent)}"
        _lent[uri] = remote
        return native(uri, *remote, *rest[3:], **named)

    module.lancedb_connect = connect


def _run_jobs_in_the_foreground():
    async def create_index(self, column, *, wait_timeout=None, **options):
        job = await self.create_index_async(column, **options)
        await job.wait()

    async def optimize(self, **_):
        deadline = time.monotonic() + OPTIMIZE_SECONDS
        while time.monotonic() < deadline:
            stats = [await self.index_stats(index.name) for index in await self.list_indices()]
            if all(index.num_unindexed_rows == 0 for index in stats):
                return
            await asyncio.sleep(0.5)

    lancedb.table.AsyncTable.create_index = create_index
    lancedb.table.AsyncTable.optimize = optimize
    lancedb.table.LanceTable.optimize = lambda self, **_: LOOP.run(optimize(self._table))


def _raise_value_errors():
    errors = lancedb.remote.errors
    errors.HttpError = type("HttpError", (errors.HttpError, ValueError), {})


for _module in (lancedb, lancedb.db):
    _replace_connect(_module)
if DATABASES is not None:
    _run_jobs_in_the_foreground()
    _raise_value_errors()


def pytest_collection_modifyitems(config, items):
    if DATABASES is None:
        return
    excluded = json.loads(EXCLUDED.read_text())["python"]
    for item in items:
        name = _name(item.nodeid)
        for reason, patterns in excluded.items():
            if any(_matches(name, pattern) for pattern in patterns):
                item.add_marker(pytest.mark.skip(reason=reason))


def _matches(name, pattern):
    """Whether a pattern, in which ``*`` is anything, is of a test."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None


def _name(nodeid):
    """The id from the `tests` folder on, wherever pytest was started."""
    return nodeid.split("tests/", 1)[-1]


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef):
    """What a fixture of a module or a session opens stays for later tests."""
    global _wider
    wide = fixturedef.scope != "function"
    _wider += wide
    yield
    _wider -= wide


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    global _owner
    _owner = item.nodeid
    yield
    if DATABASES is not None and item.nodeid in _connected:
        _ask("/return", {"owner": item.nodeid})
    _owner = SESSION


def pytest_runtest_logreport(report):
    name = _name(report.nodeid)
    result = _results.setdefault(name, {"outcome": "passed"})
    result["connected"] = report.nodeid in _connected
    if report.outcome == "passed" or result["outcome"] == "failed":
        return
    result["outcome"] = report.outcome
    if report.outcome == "failed":
        crash = getattr(report.longrepr, "reprcrash", None)
        message = crash.message if crash else str(report.longrepr)
        result["message"] = message.strip().split("\n", 1)[0][:400]
    elif isinstance(report.longrepr, tuple):
        result["message"] = report.longrepr[2]


def pytest_sessionfinish():
    if REPORT is not None:
        Path(REPORT).write_text(json.dumps(_results, indent=1))
