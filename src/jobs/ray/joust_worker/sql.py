"""Runs SQL with DataFusion, in bounded memory.

The server has planned the text with the same options, and gives it to workers only if it means the same to them.
"""

import os

from joust_worker.server import Refused
from joust_worker.spill_directory import SpillDirectory

# Of the sorts, joins and groups. Sorts and groups spill to temporary files.
MEMORY_BYTES = 1 << 30
# Bytes that Lance may read ahead. It takes this from the environment, before its first scan.
READ_AHEAD = ("LANCE_DEFAULT_IO_BUFFER_SIZE", str(32 << 20))
# Rows of scanned batches that are computed at once, as in the server: results of functions are not in the memory above.
ROWS_AT_ONCE = 1_024
# In the text of an error of DataFusion.
OF_STORE = "LanceError(IO)"
# The table of scanned rows.
SCANNED = "source_rows"


class Session:
    """A session without tables."""

    def __init__(self, order):
        datafusion = module(order["datafusion"]["version"])
        os.environ.setdefault(*READ_AHEAD)
        # One partition: more would need merge joins, which lose the nulls of NOT IN.
        limits = {
            "datafusion.execution.target_partitions": "1",
            "datafusion.execution.sort_spill_reservation_bytes": str(40 << 20),
        }
        config = datafusion.SessionConfig({**order["datafusion"]["options"], **limits})
        self.spill = SpillDirectory()
        runtime = datafusion.RuntimeEnvBuilder().with_temp_file_path(self.spill.path)
        runtime = runtime.with_fair_spill_pool(MEMORY_BYTES)
        self.context = datafusion.SessionContext(config, runtime)
        self.catalogs = datafusion.catalog

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context = None
        self.spill.remove()

    def register(self, name, table):
        """Gives a table a name in the SQL, of one to three parts."""
        catalog, schema, own = ["", "", *name][-3:]
        if catalog not in self.context.catalog_names():
            new = self.catalogs.Catalog.memory_catalog(self.context)
            self.context.register_catalog_provider(catalog, new)
        found = self.context.catalog(catalog)
        if schema not in found.schema_names():
            found.register_schema(schema, self.catalogs.Schema.memory_schema(self.context))
        found.schema(schema).register_table(own, table)

    def rows(self, sql):
        """The result of a query, in batches. A failure of the store is an OSError, so Ray runs the task again."""
        try:
            for batch in self.context.sql(sql).execute_stream():
                yield batch.to_pyarrow()
        except Exception as error:
            if OF_STORE in str(error):
                raise OSError(str(error)) from error
            raise

    def rows_of(self, batch, sql):
        """The result of a query over scanned rows, in their order."""
        if batch.num_rows == 0:
            return
        starts = range(0, batch.num_rows, ROWS_AT_ONCE)
        parts = [batch.slice(start, ROWS_AT_ONCE) for start in starts]
        self.context.register_record_batches(SCANNED, [parts])
        try:
            yield from self.rows(sql)
        finally:
            self.context.deregister_table(SCANNED)


def module(wanted):
    """The package of DataFusion, whose major and minor version are those of the server's."""
    minor = ".".join(wanted.split(".")[:2])
    install = f'install "datafusion=={minor}.*" on all nodes'
    try:
        import datafusion
        import datafusion.catalog
    except ImportError as error:
        raise Refused(
            f"a Ray node has no package datafusion, which this view needs: {install}"
        ) from error
    installed = datafusion.__version__
    if installed.split(".")[:2] != minor.split("."):
        raise Refused(
            f"a Ray node has datafusion {installed}, and this server needs {minor}: {install}"
        )
    return datafusion
