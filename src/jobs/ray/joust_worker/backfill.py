"""Computes the column of one fragment into a file that no version of the table names."""

import base64
import uuid

import numpy
import pyarrow
import pyarrow.compute
from lance.file import LanceFileWriter

from joust_worker.function import Function, RefusedFunction
from joust_worker.tables import open_table, renewed
from joust_worker.tasks import do_each

# With more groups the last ones end at the same time, with fewer the function is loaded less often.
GROUPS = 4
USES_GPUS = True

ROW_ADDRESS = "_rowaddr"
LAST_UPDATED = "_row_last_updated_at_version"
BATCH = 4_096
# Bytes of the rows that are read at once, and the rows that tell the size of the others.
INPUT_BYTES = 16 << 20
PROBED_ROWS = 8
MOST_FAILURES = 1_000


def title(order):
    return f"joust: {order['column']}"


def purpose(order):
    return f"compute the column `{order['column']}`"


def do_tasks(server, order, tasks):
    """All fragments use one process of the function."""
    order = renewed(server, order)
    dataset = open_table(order)
    column = dataset.schema.field(order["column"])
    if isinstance(column.type, pyarrow.BaseExtensionType):
        raise RefusedFunction(
            f"column `{column.name}` has the type {column.type}, which workers cannot write: "
            "declare it with another type, or start the server with --functions subprocess"
        )
    payload = base64.b64decode(order["payload"])
    with Function(order, payload, pyarrow.field(column.name, column.type)) as function:

        def do(task, heartbeat):
            return Fragment(order, dataset, column, task, heartbeat).compute(function)

        do_each(server, tasks, do)


class Fragment:
    def __init__(self, order, dataset, column, task, heartbeat):
        self.order, self.task, self.heartbeat = order, task, heartbeat
        self.dataset, self.column = dataset, column
        self.fragment = dataset.get_fragment(task["fragment"])
        self.tally = {"assigned": 0, "failed": 0, "changed": 0, "failures": []}
        self.done = 0

    def compute(self, function):
        name = f"{uuid.uuid4().hex}.lance"
        schema = pyarrow.schema([self.column])
        # Without `close` it leaves no file.
        writer = LanceFileWriter(
            f"{self.order['location'].rstrip('/')}/data/{name}",
            schema=schema,
            version=self.dataset.data_storage_version,
            storage_options=self.order["storage_options"],
        )
        for batch in self.batches():
            values = self.filled(batch, function)
            writer.write_batch(pyarrow.record_batch([values], schema=schema))
            self.done += batch.num_rows
        writer.close()
        return {"file": name, "tally": self.tally}

    def batches(self):
        """All stored rows in their order, deleted ones included."""
        columns = [path[0] for path in self.order["arguments"]] + [self.column.name]
        if self.order["changed_since"] is not None:
            columns.append(LAST_UPDATED)
        columns = list(dict.fromkeys(columns))
        options = {"with_row_id": True, "with_row_address": True, "include_deleted_rows": True}
        probed = self.fragment.to_table(columns=columns, limit=PROBED_ROWS)
        bytes_per_row = probed.nbytes // max(1, probed.num_rows)
        size = min(max(1, INPUT_BYTES // max(1, bytes_per_row)), BATCH)
        return self.fragment.to_batches(columns=columns, batch_size=size, **options)

    def filled(self, batch, function):
        """The new values of all rows of the column: computed for the selected rows, unchanged for others."""
        selected = self.selected(batch)
        old = batch.column(self.column.name)
        rows = numpy.flatnonzero(selected)
        is_whole = len(rows) == batch.num_rows
        part = batch if is_whole else batch.take(pyarrow.array(rows))
        values, failures = function.compute(part, self.report)
        self.count(part.column(self.column.name), values, rows, failures)
        if not self.order["nullable"] and values.null_count > 0:
            raise RefusedFunction(
                f"column `{self.column.name}` takes no nulls, and its computation gives some; "
                "make it nullable"
            )
        if is_whole:
            return values
        sources = numpy.arange(batch.num_rows)
        sources[rows] = batch.num_rows + numpy.arange(len(rows))
        return pyarrow.concat_arrays([old, values]).take(pyarrow.array(sources))

    def selected(self, batch):
        """The rows to compute."""
        # A deleted row has no address.
        selected = batch.column(ROW_ADDRESS).is_valid().to_numpy(zero_copy_only=False)
        since = self.order["changed_since"]
        if since is not None:
            updated = batch.column(LAST_UPDATED)
            versions = updated.fill_null(0).to_numpy(zero_copy_only=False)
            is_new = (versions > since["computed"]) & (versions != since["published"])
            selected &= is_new | updated.is_null().to_numpy(zero_copy_only=False)
        if self.order["condition"] is not None:
            selected &= self.meant()[self.done : self.done + batch.num_rows]
        return selected

    def meant(self):
        """For each stored row, whether the condition is true."""
        if not hasattr(self, "_meant"):
            found = self.fragment.to_table(
                columns=[], filter=self.order["condition"], with_row_address=True
            )
            # The lower half of an address is the position in the fragment.
            positions = found[ROW_ADDRESS].to_numpy() & 0xFFFF_FFFF
            self._meant = numpy.zeros(self.fragment.physical_rows, dtype=bool)
            self._meant[positions] = True
        return self._meant

    def count(self, old, values, rows, failures):
        changed = changes(old, values)
        lost = sum(bool(changed[row]) for row, _ in failures)
        tally = self.tally
        tally["changed"] += int(changed.sum())
        tally["assigned"] += int(changed.sum()) - lost
        tally["failed"] += len(failures)
        for row, message in failures[: MOST_FAILURES - len(tally["failures"])]:
            offset = self.done + int(rows[row])
            failure = {"fragment": self.task["fragment"], "offset": offset, "message": message}
            tally["failures"].append(failure)

    def report(self, computed):
        """Reports so many computed rows of the batch from time to time."""
        self.heartbeat.beat_if_due(self.done + computed)


def changes(old, new):
    """For each row, whether its value changes."""
    count = len(new)
    were_null = old.is_null().to_numpy(zero_copy_only=False)
    are_null = new.is_null().to_numpy(zero_copy_only=False)
    kind = new.type
    is_vector = pyarrow.types.is_fixed_size_list(kind) and pyarrow.types.is_floating(kind.value_type)
    if is_vector and old.values.null_count == new.values.null_count == 0:
        differ = numpy.zeros(count, dtype=bool)
        both = numpy.flatnonzero(~were_null & ~are_null)
        if len(both) > 0:
            size = kind.list_size
            before, after = (
                one.take(pyarrow.array(both)).flatten().to_numpy(zero_copy_only=False)
                for one in (old, new)
            )
            same = (before == after) | (numpy.isnan(before) & numpy.isnan(after))
            differ[both] = ~same.reshape(len(both), size).all(axis=1)
    elif pyarrow.types.is_nested(kind):
        pairs = zip(old, new, strict=True)
        differ = numpy.array([before != after for before, after in pairs], dtype=bool)
    else:
        unequal = pyarrow.compute.not_equal(old, new).fill_null(False)
        differ = unequal.to_numpy(zero_copy_only=False)
        if pyarrow.types.is_floating(kind):
            nans = (pyarrow.compute.is_nan(one).fill_null(False) for one in (old, new))
            differ = differ & ~pyarrow.compute.and_(*nans).to_numpy(zero_copy_only=False)
    return (were_null != are_null) | (differ & ~were_null & ~are_null)
