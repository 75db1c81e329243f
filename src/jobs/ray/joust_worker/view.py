"""Computes the rows of a view that come from one fragment of its source, into files that no version of the view names."""

import base64
import contextlib

import numpy
import pyarrow
import pyarrow.compute

from joust_worker.function import Function
from joust_worker.plain_rows import plain
from joust_worker.sql import Session
from joust_worker.tables import open_source, open_table, renewed
from joust_worker.tasks import do_each
from joust_worker.view_files import Files

# With more groups the last ones end at the same time, with fewer the function is loaded less often.
GROUPS = 4
USES_GPUS = True

ROW_ID = "_rowid"
ROW_ADDRESS = "_rowaddr"
# Columns of a view with a function: the id of the source's row, and the position among the rows of the same one.
SOURCE_ROW_ID = "__source_row_id"
CHILD_INDEX = "__child_index"
BATCH = 8_192
# Rows that are read at once if only the first ones are needed.
LIMITED_BATCH = 64
# Bytes of the rows that are read or written at once.
BATCH_BYTES = 16 << 20
# Memory for each byte of a compressed file.
UNPACKED = 4
# Bytes that Lance may read ahead of the computation.
READ_AHEAD_BYTES = 32 << 20
MOST_FAILURES = 1_000


def title(_order):
    return "joust: view refresh"


def purpose(_order):
    return "compute the rows of the view"


def do_tasks(server, order, tasks):
    order = renewed(server, order)
    view, source = open_table(order), open_source(order)
    with contextlib.ExitStack() as stack:
        expander = session = None
        if order["sql"] is not None:
            session = stack.enter_context(Session(order))
        if order["function"] is not None:
            expander = Expander(stack, order, view.schema)

        def do(task, heartbeat):
            with Files(order, view) as files:
                fragment = source.get_fragment(task["fragment"])
                rows = Rows(order, source, fragment, files, heartbeat, session)
                return rows.compute() if expander is None else rows.expand(expander)

        do_each(server, tasks, do)


class Rows:
    """The rows of the view's query that are in one fragment of the source."""

    def __init__(self, order, source, fragment, files, heartbeat, session):
        self.order, self.source, self.fragment = order, source, fragment
        self.files, self.heartbeat = files, heartbeat
        # Computes the rows of the query from scanned ones; None: they are the same.
        self.session = session

    def compute(self):
        """They are the rows of the view."""
        selected = numpy.zeros(self.fragment.physical_rows, dtype=bool)
        last = -1
        for batch in self.batches():
            offsets = offsets_of(batch)
            # The server gives the rows the ids of the selected ones, in the order of the fragment.
            if (numpy.diff(offsets, prepend=last) <= 0).any():
                raise RuntimeError("Lance gives the rows of a fragment in another order")
            last = offsets[-1] if len(offsets) > 0 else last
            selected[offsets] = True
            self.files.write([batch.column(name) for name in self.files.schema.names])
            self.heartbeat.beat_if_due(int(last) + 1)
        bits = numpy.packbits(selected, bitorder="little").tobytes()
        return self.result(selected=base64.b64encode(bits).decode())

    def expand(self, expander):
        """A function makes the rows of the view of them."""
        called, failures, count = 0, [], 0
        for batch in self.batches():
            offsets = offsets_of(batch)
            for first, results, failed in expander.function.pieces(batch):
                called += len(results)
                count += len(failed)
                for row, message in failed[: MOST_FAILURES - len(failures)]:
                    offset = int(offsets[first + row])
                    failure = {"fragment": self.fragment.fragment_id, "offset": offset}
                    failures.append({**failure, "message": message})
                for columns in expander.rows(batch.slice(first, len(results)), results):
                    self.files.write(columns)
                self.heartbeat.beat_if_due(int(offsets[first + len(results) - 1]) + 1)
                if self.files.is_full():
                    return self.result(called, count, failures)
        return self.result(called, count, failures)

    def result(self, called=0, failed=0, failures=(), selected=None):
        counts = {"called": called, "failed": failed, "failures": list(failures)}
        return {"files": self.files.close(), "selected": selected, **counts}

    def batches(self):
        stored = sum(file.file_size_bytes or 0 for file in self.fragment.data_files())
        bytes_per_row = UNPACKED * stored // self.fragment.physical_rows
        most = BATCH if self.order["room"] is None else LIMITED_BATCH
        scanner = self.source.scanner(
            columns=dict(self.order["columns"]),
            filter=condition_of(self.order),
            fragments=[self.fragment],
            batch_size=min(max(1, BATCH_BYTES // max(1, bytes_per_row)), most),
            io_buffer_size=READ_AHEAD_BYTES,
            with_row_id=True,
            with_row_address=True,
            scan_in_order=True,
            # An index gives rows in its own order.
            use_scalar_index=False,
        )
        for batch in scanner.to_batches():
            if self.session is None:
                yield plain(batch)
            else:
                yield from map(plain, self.session.rows_of(batch, self.order["sql"]))


class Expander:
    """Makes rows of a view of the results of its function."""

    def __init__(self, stack, order, view):
        inherited = order["function"]["inherited"]
        self.fields = list(view)
        own = [*inherited, SOURCE_ROW_ID, CHILD_INDEX]
        self.outputs = [field for field in self.fields if field.name not in own]
        self.inherited = [field for field in self.fields if field.name in inherited]
        rows = pyarrow.list_(pyarrow.field("item", pyarrow.struct(self.outputs)))
        payload = base64.b64decode(order["payload"])
        output = pyarrow.field("rows", rows)
        self.function = stack.enter_context(Function(order, payload, output, expands=True))

    def rows(self, batch, results):
        """The columns of the view, in parts that fit into memory: a row may be large, and each of its rows repeats it."""
        lengths = pyarrow.compute.list_value_length(results).fill_null(0).to_numpy()
        # Without those of null lists.
        structs = results.flatten()
        parents = numpy.repeat(numpy.arange(len(results)), lengths)
        positions = numpy.arange(len(structs)) - numpy.repeat(numpy.cumsum(lengths) - lengths, lengths)
        sizes = self.inherited_bytes(batch)[parents] + structs.nbytes // max(1, len(structs))
        part = numpy.cumsum(sizes) // BATCH_BYTES
        ends = [*(numpy.flatnonzero(numpy.diff(part)) + 1), len(structs)]
        first = 0
        for end in ends:
            if end > first:
                own = structs.slice(first, end - first)
                yield self.columns(batch, parents[first:end], own, positions[first:end])
            first = end

    def columns(self, batch, parents, structs, positions):
        parents = pyarrow.array(parents)
        columns = []
        for field in self.fields:
            if field.name == SOURCE_ROW_ID:
                column = batch.column(ROW_ID).take(parents)
            elif field.name == CHILD_INDEX:
                column = pyarrow.array(positions)
            elif field in self.outputs:
                index = structs.type.get_field_index(field.name)
                column = pyarrow.compute.struct_field(structs, [index])
            else:
                column = batch.column(field.name).take(parents)
            columns.append(column)
        return columns

    def inherited_bytes(self, batch):
        """For each row: the bytes of its texts and bytes, and the average of its other values."""
        sizes = numpy.zeros(batch.num_rows, dtype=numpy.int64)
        for field in self.inherited:
            column = batch.column(field.name)
            if is_binary(column.type):
                own = pyarrow.compute.binary_length(column).fill_null(0)
                sizes += own.to_numpy().astype(numpy.int64)
            else:
                sizes += column.nbytes // max(1, batch.num_rows)
        return sizes


def condition_of(order):
    """SQL; the rows of the query are those for which it is true."""
    conditions = []
    after = order["after"]
    if after is not None:
        versions = ("_row_created_at_version", "_row_last_updated_at_version")
        conditions.append(" OR ".join(f"{version} > {after}" for version in versions))
    if order["filter"] is not None:
        conditions.append(order["filter"])
    return " AND ".join(f"({one})" for one in conditions) or None


def offsets_of(batch):
    """The positions of rows in their fragment."""
    # The lower half of an address.
    return (batch.column(ROW_ADDRESS).to_numpy() & 0xFFFF_FFFF).astype(numpy.int64)


def is_binary(kind):
    types = pyarrow.types
    return types.is_binary(kind) or types.is_large_binary(kind) or is_text(kind)


def is_text(kind):
    return pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)
