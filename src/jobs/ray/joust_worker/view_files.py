"""New data files with rows of a view, which no version of it names."""

import uuid

import pyarrow
from lance.file import LanceFileWriter


class Files:
    """New files with rows of the view. Those of a task that fails have no end, and no one reads them."""

    def __init__(self, order, view):
        self.order, self.schema = order, view.schema.remove_metadata()
        self.version = view.data_storage_version
        # The most rows; None: all.
        self.room = order.get("room")
        self.names, self.rows, self.writer = [], 0, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Without `close` it leaves no file.
        self.writer = None

    def is_full(self):
        return self.room == 0

    def write(self, columns):
        """Writes as many of the rows as the view needs."""
        pairs = zip(columns, self.schema, strict=True)
        arrays = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in pairs
        ]
        batch = pyarrow.RecordBatch.from_arrays(arrays, schema=self.schema)
        if self.room is not None:
            batch = batch.slice(0, self.room)
            self.room -= batch.num_rows
        most = self.order["max_rows_per_fragment"]
        while batch.num_rows > 0:
            if self.writer is None:
                self.writer, self.rows = self.new_file(), 0
            part = batch.slice(0, most - self.rows)
            self.writer.write_batch(part)
            self.rows += part.num_rows
            batch = batch.slice(part.num_rows)
            if self.rows == most:
                self.end_file()

    def new_file(self):
        name = f"{uuid.uuid4().hex}.lance"
        self.names.append(name)
        return LanceFileWriter(
            f"{self.order['location'].rstrip('/')}/data/{name}",
            schema=self.schema,
            version=self.version,
            storage_options=self.order["storage_options"],
        )

    def end_file(self):
        self.writer.close()
        self.writer = None

    def close(self):
        """The names of the files."""
        if self.writer is not None:
            self.end_file()
        return self.names
