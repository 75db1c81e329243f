"""Calls a function of joust: row by row, with arrays, or with a batch. worker.py uses it."""

import functools
import sys

MOST_MESSAGE = 500


class Refused(Exception):
    """The function cannot run. The message says what is missing."""


class Call:
    """A function, and how it takes its arguments: as a batch, as arrays, or row by row."""

    def __init__(self, target, output, start):
        import inspect

        self.target = target() if inspect.isclass(target) else target
        self.output = output
        self.struct_field = start["struct_field"]
        # The columns of the rows that the function makes of each row.
        self.columns = None
        if start["expands"]:
            fields = output.type.value_type
            self.columns = [fields.field(at).name for at in range(fields.num_fields)]
        self.style = style_of(self.target)

    def __call__(self, batch):
        """The values, and the failed rows with their messages."""
        if self.style == "rows":
            return self.by_row(batch)
        failures = []
        values = self.bisected(batch, 0, failures)
        return values, failures

    def by_row(self, batch):
        values, failures = [], []
        for row in range(batch.num_rows):
            try:
                # Some values, such as dates after the year 9999, have no Python object: their rows fail.
                value = self.target(*(column[row].as_py() for column in batch.columns))
                if self.columns is not None:
                    value = self.rows_of(value)
                elif self.struct_field is not None and value is not None:
                    value = value[self.struct_field]
                value = kept(value)
            except Exception as error:
                value = None
                failures.append([row, message_of(error)])
            values.append(value)
        return self.converted(values, failures), failures

    def converted(self, values, failures):
        """An array of Python values. Values that the column cannot have fail."""
        import pyarrow

        try:
            return pyarrow.array(values, self.output.type)
        except Exception:
            arrays = []
            for row, value in enumerate(values):
                try:
                    arrays.append(pyarrow.array([value], self.output.type))
                except Exception as error:
                    arrays.append(pyarrow.nulls(1, self.output.type))
                    failures.append([row, message_of(error)])
            failures.sort(key=lambda failure: failure[0])
            return pyarrow.concat_arrays(arrays)

    def bisected(self, batch, first, failures):
        """The values of a batch. If the function fails for it, the function gets each half, down to single rows."""
        import pyarrow

        rows = batch.num_rows
        try:
            arguments = [batch] if self.style == "batch" else batch.columns
            return self.array(self.target(*arguments), rows)
        except Exception as error:
            if rows == 1:
                failures.append([first, message_of(error)])
                return pyarrow.nulls(1, self.output.type)
        half = rows // 2
        left = self.bisected(batch.slice(0, half), first, failures)
        # A copy: the function may use the memory of its result again for the next call.
        left = pyarrow.concat_arrays([left, left.slice(0, 0)])
        right = self.bisected(batch.slice(half), first + half, failures)
        return pyarrow.concat_arrays([left, right])

    def rows_of(self, result):
        """The rows that the function made of one row, as dicts."""
        if result is None:
            return None
        if isinstance(result, (str, bytes, dict)) or not hasattr(result, "__iter__"):
            raise TypeError(
                f"the function must return or yield rows, and it returned one {type(result).__name__}"
            )
        return [self.row_of(one) for one in result]

    def row_of(self, row):
        """A row from a dict, a named tuple, a dataclass, a tuple, or the value of its only column."""
        import dataclasses

        names = self.columns
        if hasattr(row, "_asdict"):
            row = row._asdict()
        elif dataclasses.is_dataclass(row):
            row = {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
        elif isinstance(row, (tuple, list)) and len(names) > 1:
            if len(row) != len(names):
                raise ValueError(
                    f"the function returned a row of {len(row)} values for {len(names)} columns"
                )
            row = dict(zip(names, row))
        elif isinstance(row, tuple) and len(row) == 1:
            row = {names[0]: row[0]}
        elif not isinstance(row, dict):
            if len(names) > 1:
                raise TypeError(
                    f"the function returned a {type(row).__name__} in place of a row: a row is a dict, a tuple, "
                    "a named tuple or a dataclass"
                )
            row = {names[0]: row}
        unknown = [str(name) for name in row if name not in names]
        if unknown:
            raise ValueError(
                f"the function returned a row with {', '.join(unknown)}; "
                f"the columns are {', '.join(names)}"
            )
        # A copy: the function may fill the same dict again for the next row.
        return {name: kept(value) for name, value in row.items()}

    def field_of(self, result):
        """The values of one output: of a struct array, a batch, or a list of dicts."""
        import pyarrow
        import pyarrow.compute

        if isinstance(result, pyarrow.RecordBatch):
            return result.column(self.struct_field)
        if isinstance(result, pyarrow.Array):
            return pyarrow.compute.struct_field(result, self.struct_field)
        return [None if one is None else one[self.struct_field] for one in result]

    def lists_of(self, result):
        """The rows that the function made of each row of a batch."""
        import pyarrow

        if isinstance(result, pyarrow.Array):
            return result
        if isinstance(result, (pyarrow.RecordBatch, pyarrow.Table)):
            raise TypeError(
                f"the function returned a {type(result).__name__}, which does not say which rows belong to which "
                "row: return a list of rows for each row, or a pyarrow list array of structs"
            )
        return [self.rows_of(one) for one in result]

    def array(self, result, rows):
        """The result of a call with arrays, as an array of the column's type."""
        import pyarrow

        wanted = self.output.type
        if isinstance(result, pyarrow.ChunkedArray):
            result = result.combine_chunks()
        if self.columns is not None:
            result = self.lists_of(result)
        elif self.struct_field is not None:
            result = self.field_of(result)
        if not isinstance(result, pyarrow.Array):
            if getattr(result, "ndim", 1) == 2 and pyarrow.types.is_fixed_size_list(wanted):
                if result.shape[1] != wanted.list_size:
                    raise ValueError(
                        f"the function returned vectors of {result.shape[1]} values "
                        f"for a column of {wanted.list_size}"
                    )
                flat = result.reshape(-1)
                numbers = numbers_of(flat, wanted.value_type)
                if numbers is None:
                    numbers = pyarrow.array(flat, wanted.value_type)
                result = pyarrow.FixedSizeListArray.from_arrays(numbers, type=wanted)
            else:
                # numpy arrays of several dimensions are sequences of arrays.
                numbers = numbers_of(result, wanted)
                result = pyarrow.array(list(result), wanted) if numbers is None else numbers
        if len(result) != rows:
            raise ValueError(f"the function returned {len(result)} values for {rows} rows")
        return result if result.type == wanted else result.cast(wanted)


def kept(value):
    """The value of a row. A copy, if it can change: the function may use its memory again for the next row."""
    numpy = sys.modules.get("numpy")
    is_array = numpy is not None and type(value) is numpy.ndarray
    return value.copy() if is_array or type(value) in (list, dict) else value


def numbers_of(values, wanted):
    """A numpy array of one dimension as an array of this type, if it has the same numbers; else None.

    The first call of pyarrow.array imports pandas, if it is installed. That takes longer than to start the process.
    """
    import pyarrow

    numpy = sys.modules.get("numpy")
    if numpy is None or type(values) is not numpy.ndarray or values.ndim != 1:
        return None
    is_number = pyarrow.types.is_integer(wanted) or pyarrow.types.is_floating(wanted)
    if not is_number or values.dtype != numpy.dtype(wanted.to_pandas_dtype()):
        return None
    buffer = pyarrow.py_buffer(numpy.ascontiguousarray(values))
    return pyarrow.Array.from_buffers(wanted, len(values), [None, buffer])


def style_of(target):
    """`batch`: one parameter of type RecordBatch. `arrays`: a parameter of type Array. Else `rows`."""
    import inspect
    import typing

    while isinstance(target, functools.partial):
        target = target.func
    called = target if inspect.isroutine(target) else type(target).__call__
    try:
        hints = typing.get_type_hints(called)
    except Exception:
        # A name of another parameter is not defined. Those of pyarrow are texts here.
        hints = getattr(called, "__annotations__", {})
    kinds = []
    for name, hint in hints.items():
        if name != "return":
            kinds += typing.get_args(hint) or [hint]
    if any(is_arrow(kind, "RecordBatch") for kind in kinds):
        return "batch"
    if any(is_arrow(kind, "ChunkedArray") for kind in kinds):
        raise Refused("a parameter has the type ChunkedArray: use pyarrow.Array")
    if any(is_arrow(kind, "Array") for kind in kinds):
        return "arrays"
    return "rows"


def is_arrow(kind, name):
    """Whether a type, or its text, is that class of pyarrow."""
    import pyarrow

    if isinstance(kind, str):
        return kind.rpartition(".")[2].split(" ")[0] == name
    return isinstance(kind, type) and issubclass(kind, getattr(pyarrow, name))


def message_of(error):
    name = type(error).__name__
    try:
        text = f"{name}: {error}" if str(error) else name
    except Exception:
        text = name
    # A message may have characters that no encoding of Unicode has.
    return text[:MOST_MESSAGE].encode("utf-8", "replace").decode()
