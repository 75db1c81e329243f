"""The eight tables of TPC-H, in DuckDB and in joust."""

import http.client
import os
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import pyarrow as pa
import pyarrow.parquet
from joust_server import JoustServer

TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]
BATCH_ROWS = 64 << 10


@contextmanager
def generated(scale: float) -> Iterator[Path]:
    """A folder with a Parquet file for each table, deterministic for a scale factor."""
    program = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
    with tempfile.TemporaryDirectory(prefix="joust-tpch-") as folder:
        command = [program, "parquet", "--scale-factor", str(scale), "--output-dir", folder]
        subprocess.run([*command, "--quiet"], check=True)
        yield Path(folder)


def in_duckdb(folder: Path) -> duckdb.DuckDBPyConnection:
    """A database in memory with the tables of a folder."""
    database = duckdb.connect()
    for name in TABLES:
        database.execute(f"CREATE TABLE {name} AS SELECT * FROM read_parquet('{folder / name}.parquet')")
    return database


def load(server: JoustServer, folder: Path) -> dict[str, int]:
    """Creates the tables in joust, each of one Arrow stream; returns their numbers of rows."""
    return {name: _create(server, name, folder / f"{name}.parquet") for name in TABLES}


def _create(server: JoustServer, name: str, path: Path) -> int:
    file = pa.parquet.ParquetFile(path)
    schema = _plain(file.schema_arrow)
    with tempfile.TemporaryFile() as stream:
        with pa.ipc.new_stream(stream, schema) as writer:
            for batch in file.iter_batches(BATCH_ROWS):
                writer.write_batch(batch.cast(schema))
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        address = urlsplit(server.url)
        connection = http.client.HTTPConnection(address.hostname, address.port)
        headers = {
            "Authorization": f"Bearer {server.key}",
            "Content-Type": "application/vnd.apache.arrow.stream",
            "Content-Length": str(size),
        }
        connection.request("POST", f"/v1/table/{name}/create", stream, headers)
        with connection.getresponse() as response:
            if response.status != 200:
                raise RuntimeError(f"cannot create {name}: {response.read().decode()}")
        connection.close()
    return file.metadata.num_rows


def _plain(schema: pa.Schema) -> pa.Schema:
    """String views as strings."""
    fields = [
        field.with_type(pa.string()) if field.type == pa.string_view() else field
        for field in schema
    ]
    return pa.schema(fields)
