"""Bulk ingestion over Flight SQL with ADBC."""

import os
import re
import subprocess
import sys
import time

import adbc_driver_flightsql.dbapi
import adbc_driver_manager
import pyarrow as pa
import pyarrow.flight
import pytest
from joust_server import REPOSITORY, JoustServer, TemporaryRoot


def rows(count, first=0):
    ids = range(first, first + count)
    columns = {
        "id": pa.array(ids, pa.int64()),
        "name": pa.array([f"name {id}" for id in ids], pa.string()),
        "vector": pa.array([[float(id), 0.5] for id in ids], pa.list_(pa.float32(), 2)),
    }
    return pa.table(columns)


def ingest(adbc, name, data, mode, **options):
    with adbc.cursor() as cursor:
        return cursor.adbc_ingest(name, data, mode=mode, **options)


def select(adbc, sql):
    with adbc.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetch_arrow_table()


def count(adbc, name):
    return select(adbc, f"SELECT count(*) AS n FROM {name}")["n"].to_pylist()[0]


def test_create_makes_a_table(adbc, database, name):
    assert ingest(adbc, name, rows(100), "create") == 100
    assert select(adbc, f"SELECT * FROM {name} ORDER BY id").equals(rows(100))
    assert database.open_table(name).version == 1
    with pytest.raises(adbc_driver_manager.Error, match="already exists"):
        ingest(adbc, name, rows(1), "create")
    assert count(adbc, name) == 100


def test_append_is_one_commit(adbc, database, name):
    with pytest.raises(adbc_driver_manager.Error, match="does not exist"):
        ingest(adbc, name, rows(1), "append")
    ingest(adbc, name, rows(10), "create")
    batches = pa.concat_tables([rows(1_000, first) for first in range(0, 20_000, 1_000)])
    assert ingest(adbc, name, batches.to_reader(max_chunksize=500), "append") == 20_000
    assert count(adbc, name) == 20_010
    assert database.open_table(name).version == 2


def test_create_append_does_either(adbc, name):
    for total in (3, 6):
        assert ingest(adbc, name, rows(3), "create_append") == 3
        assert count(adbc, name) == total


def test_replace_replaces_rows_and_columns(adbc, database, name):
    assert ingest(adbc, name, rows(5), "replace") == 5
    assert ingest(adbc, name, pa.table({"other": ["x", "y"]}), "replace") == 2
    assert select(adbc, f"SELECT * FROM {name}").to_pydict() == {"other": ["x", "y"]}
    assert database.open_table(name).version == 2


def test_a_schema_is_a_namespace(adbc, name):
    select(adbc, f"CREATE SCHEMA space_of_{name}")
    assert ingest(adbc, name, rows(4), "create", db_schema_name=f"space_of_{name}") == 4
    assert count(adbc, f"space_of_{name}.{name}") == 4
    assert ingest(adbc, name, rows(4), "create", catalog_name="joust") == 4
    assert count(adbc, f"public.{name}") == 4
    with pytest.raises(adbc_driver_manager.Error, match="no catalog `other`"):
        ingest(adbc, name, rows(1), "append", catalog_name="other")
    with pytest.raises(adbc_driver_manager.Error, match="does not exist"):
        ingest(adbc, name, rows(1), "create", db_schema_name="no_such_space")


def test_temporary_tables_are_refused(adbc, database, name):
    with pytest.raises(adbc_driver_manager.NotSupportedError, match="temporary"):
        ingest(adbc, name, rows(1), "create", temporary=True)
    assert name not in database.table_names()


def test_other_columns_are_refused(adbc, name):
    ingest(adbc, name, rows(2), "create")
    with pytest.raises(adbc_driver_manager.Error):
        ingest(adbc, name, pa.table({"other": [1]}), "append")
    assert count(adbc, name) == 2


def field(number: int, value: bytes) -> bytes:
    """A field of a protobuf message, shorter than 128 bytes."""
    return bytes([number * 8 + 2, len(value)]) + value


def command(name: str, if_not_exist: int, if_exists: int) -> pyarrow.flight.FlightDescriptor:
    """CommandStatementIngest."""
    options = bytes([8, if_not_exist, 16, if_exists])
    ingest = field(1, options) + field(2, name.encode())
    url = b"type.googleapis.com/arrow.flight.protocol.sql.CommandStatementIngest"
    return pyarrow.flight.FlightDescriptor.for_command(field(1, url) + field(2, ingest))


@pytest.fixture
def flight(server):
    """A client of pyarrow, and its options."""
    header = (b"authorization", f"Bearer {server.key}".encode())
    with pyarrow.flight.connect(f"grpc://127.0.0.1:{server.sql_port}") as client:
        yield client, pyarrow.flight.FlightCallOptions(headers=[header])


CREATE, APPEND = (1, 1), (2, 2)


def test_a_stream_without_rows_makes_an_empty_table(adbc, flight, name):
    client, options = flight
    writer, reader = client.do_put(command(name, *CREATE), rows(0).schema, options)
    writer.done_writing()
    assert reader.read().to_pybytes() == b""
    writer.close()
    assert select(adbc, f"SELECT * FROM {name}").schema == rows(0).schema


@pytest.mark.parametrize("how", [CREATE, APPEND])
def test_a_client_that_disconnects_leaves_nothing(adbc, database, server, name, how):
    if how == APPEND:
        ingest(adbc, name, rows(2), "create")
    program = f"""
import os, pyarrow as pa, pyarrow.flight, sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
from test_flight_sql_ingest import command, rows
header = (b"authorization", b"Bearer {server.key}")
client = pyarrow.flight.connect("grpc://127.0.0.1:{server.sql_port}")
options = pyarrow.flight.FlightCallOptions(headers=[header])
writer, _ = client.do_put(command({name!r}, *{how!r}), rows(0).schema, options)
for first in range(0, 50_000, 1_000):
    writer.write_table(rows(1_000, first))
print("written", flush=True)
sys.stdin.read()
"""
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout.readline() == b"written\n"
    time.sleep(1)
    child.kill()
    child.wait()
    time.sleep(2)
    if how == APPEND:
        assert count(adbc, name) == 2
        assert database.open_table(name).version == 1
    assert ingest(adbc, name, rows(1), "create_append") == 1
    assert count(adbc, name) == (3 if how == APPEND else 1)


def key_of(server, role):
    """A new key of this role, and its id."""
    joust = ["node", str(REPOSITORY / "dist/cli/main.js"), "key"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JOUST_")}

    def run(*args):
        return subprocess.run(
            [*joust, *args, server.root], env=environment, capture_output=True, text=True, check=True
        ).stdout

    secret = re.search(r"joust_[\w-]+", run("create", "--name", f"ingest {role}", "--role", role))[0]
    [line] = [line for line in run("list").splitlines() if f"ingest {role}" in line]
    return secret, line.split()[0]


@pytest.mark.parametrize("role", ["none", "read"])
def test_grants_decide(adbc, database, server, name, role):
    ingest(adbc, name, rows(1), "create")
    secret, key = key_of(server, role)
    options = {"username": "anyone", "password": secret}
    with adbc_driver_flightsql.dbapi.connect(
        f"grpc://127.0.0.1:{server.sql_port}", db_kwargs=options, autocommit=True
    ) as limited:
        for mode in ["append", "create_append", "replace", "create"]:
            with pytest.raises(adbc_driver_manager.Error):
                ingest(limited, name, rows(1), mode)
        select(adbc, f"GRANT INSERT ON {name} TO 'key:{key}'")
        for mode in ["append", "create_append"]:
            assert ingest(limited, name, rows(2), mode) == 2
        for mode in ["replace", "create"]:
            with pytest.raises(adbc_driver_manager.Error):
                ingest(limited, name, rows(1), mode)
        with pytest.raises(adbc_driver_manager.Error):
            ingest(limited, f"{name}_other", rows(1), "create")
    assert count(adbc, name) == 5
    assert f"{name}_other" not in database.table_names()


def test_uploads_have_the_limits_of_http(tmp_path):
    limits = tmp_path / "limits.yaml"
    limits.write_text(
        "defaults: { caller: { upload_bytes_per_second: 1, upload_burst_bytes: 100KiB } }\n"
    )
    arguments = ["--max-upload-bytes", "500KiB", "--limits", str(limits)]
    with TemporaryRoot() as root, JoustServer(root, arguments=arguments) as server:
        options = {"username": "anyone", "password": server.key}
        address = f"grpc://127.0.0.1:{server.sql_port}"
        with adbc_driver_flightsql.dbapi.connect(
            address, db_kwargs=options, autocommit=True
        ) as adbc:
            with pytest.raises(adbc_driver_manager.Error, match="--max-upload-bytes"):
                ingest(adbc, "large", rows(100_000), "create")
            # Its bytes count, too: the bucket is empty for a long time.
            with pytest.raises(adbc_driver_manager.Error, match="upload_bytes_per_second|upload bytes"):
                ingest(adbc, "later", rows(1), "create")
            tables = select(adbc, "SELECT table_name FROM information_schema.tables")
            assert tables["table_name"].to_pylist() == []
