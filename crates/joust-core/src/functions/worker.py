"""Runs one Python function for joust.

joust starts this program with pipes as standard input and output, and sends frames: see frames.rs. The first one has
the function, the second one the schema of the column that it computes. Each further one has the arguments of a call as
an Arrow IPC stream, whose columns are the parameters in their order. The answer has the values of the column and the
rows for which the function failed.
"""

import ctypes
import functools
import json
import os
import signal
import struct
import sys

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
MOST_MESSAGE = 500


class Refused(Exception):
    """The function cannot run. The message says what is missing."""


# Frames


def read_frame(source):
    lengths = source.read(12)
    if len(lengths) < 12:
        # joust has closed the pipe.
        sys.exit(0)
    header, body = struct.unpack("<IQ", lengths)
    return json.loads(source.read(header)), source.read(body)


def write_frame(sink, header, body=b""):
    encoded = json.dumps(header).encode()
    sink.write(struct.pack("<IQ", len(encoded), len(body)))
    sink.write(encoded)
    sink.write(body)
    sink.flush()


# Limits


def die_with_parent():
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def leave_network():
    """Moves this process to a network without interfaces. Returns why that is impossible, or None."""
    if sys.platform != "linux":
        return f"{sys.platform} has no network namespaces"
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWNET) == 0:
        return None
    # Without privileges it takes a user namespace, in which the user stays the same.
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        return os.strerror(ctypes.get_errno())
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        try:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
        except OSError:
            # The process already has no network. Without the map it has no name for its user, which few functions need.
            break
    return None


def limit(start):
    import resource

    limits = [(resource.RLIMIT_NOFILE, start["open_files"]), (resource.RLIMIT_CORE, 0)]
    if sys.platform == "linux":
        # RLIMIT_AS also counts address space that is only reserved, which libraries for models do a lot. Other systems
        # do not count memory in RLIMIT_DATA.
        limits.append((resource.RLIMIT_DATA, start["memory_bytes"]))
    for what, most in limits:
        _, hard = resource.getrlimit(what)
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        try:
            resource.setrlimit(what, (most, most))
        except (OSError, ValueError) as error:
            raise Refused(f"a limit of the process could not be set: {error}") from error


def limit_cpu_time(seconds):
    """Sets the limit of the next call."""
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = usage.ru_utime + usage.ru_stime
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(used) + 1 + seconds
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


# The function


def load(payload, start):
    """The callable of a payload."""
    import hashlib

    if hashlib.sha256(payload).hexdigest() != start["sha256"]:
        raise Refused("its file is damaged: the content does not have the SHA-256 of its name")
    try:
        envelope = json.loads(payload)
    except ValueError:
        envelope = None
    if not isinstance(envelope, dict):
        return unpickle(payload)
    if isinstance(envelope.get("source"), str):
        return from_source(envelope)
    if isinstance(envelope.get("udf_pickle"), str):
        import base64

        return unpickle(base64.b64decode(envelope["udf_pickle"]))
    raise Refused("its payload has neither Python source nor a pickle")


def from_source(envelope):
    check_requirements(envelope.get("requirements") or [])
    entry = envelope["entry"]
    import types

    # A module like any other one: dataclasses and pickle look for it.
    module = types.ModuleType("joust_function")
    sys.modules[module.__name__] = module
    exec(compile(envelope["source"], "<function>", "exec"), module.__dict__)
    target = module.__dict__.get(entry)
    if not callable(target):
        raise Refused(f"its source defines no function or class {entry}")
    return target


def unpickle(data):
    import pickle

    try:
        target = pickle.loads(data)
    except pickle.UnpicklingError as error:
        raise Refused(f"its payload is no pickle: {error}") from error
    # LanceDB's clients wrap the function in an object that knows its types.
    inner = None if isinstance(target, functools.partial) else getattr(target, "func", None)
    return inner if callable(inner) else target


def check_requirements(requirements):
    import importlib.metadata as metadata

    if not requirements:
        return
    try:
        from packaging.requirements import Requirement
    except ImportError:
        try:
            from pip._vendor.packaging.requirements import Requirement
        except ImportError as error:
            raise Refused(
                f"requirements need the package packaging: install it for {sys.executable}"
            ) from error
    missing = []
    for text in requirements:
        requirement = Requirement(text)
        if requirement.marker and not requirement.marker.evaluate():
            continue
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            missing.append(text)
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            missing.append(f"{text} (installed: {version})")
    if missing:
        raise Refused(f"it requires {', '.join(missing)}: install that for {sys.executable}")


class Call:
    """A function, and how it takes its arguments: as a batch, as arrays, or row by row."""

    def __init__(self, target, output, struct_field):
        import inspect

        self.target = target() if inspect.isclass(target) else target
        self.output = output
        self.struct_field = struct_field
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
                if self.struct_field is not None and value is not None:
                    value = value[self.struct_field]
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
        return pyarrow.concat_arrays(
            [
                self.bisected(batch.slice(0, half), first, failures),
                self.bisected(batch.slice(half), first + half, failures),
            ]
        )

    def field_of(self, result):
        """The values of one output: of a struct array, a batch, or a list of dicts."""
        import pyarrow
        import pyarrow.compute

        if isinstance(result, pyarrow.RecordBatch):
            return result.column(self.struct_field)
        if isinstance(result, pyarrow.Array):
            return pyarrow.compute.struct_field(result, self.struct_field)
        return [None if one is None else one[self.struct_field] for one in result]

    def array(self, result, rows):
        """The result of a call with arrays, as an array of the column's type."""
        import pyarrow

        wanted = self.output.type
        if isinstance(result, pyarrow.ChunkedArray):
            result = result.combine_chunks()
        if self.struct_field is not None:
            result = self.field_of(result)
        if not isinstance(result, pyarrow.Array):
            if getattr(result, "ndim", 1) == 2 and pyarrow.types.is_fixed_size_list(wanted):
                if result.shape[1] != wanted.list_size:
                    raise ValueError(
                        f"the function returned vectors of {result.shape[1]} values "
                        f"for a column of {wanted.list_size}"
                    )
                flat = pyarrow.array(result.reshape(-1), wanted.value_type)
                result = pyarrow.FixedSizeListArray.from_arrays(flat, type=wanted)
            else:
                # numpy arrays of several dimensions are sequences of arrays.
                result = pyarrow.array(list(result), wanted)
        if len(result) != rows:
            raise ValueError(f"the function returned {len(result)} values for {rows} rows")
        return result if result.type == wanted else result.cast(wanted)


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


# The program


def main():
    die_with_parent()
    # What the function prints must not get into the frames.
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    start, payload = read_frame(source)
    _, schema = read_frame(source)
    network = None if start["network"] else leave_network()
    try:
        try:
            import pyarrow
        except ImportError as error:
            raise Refused(
                f"the package pyarrow is missing: install it for {sys.executable}"
            ) from error
        output = pyarrow.ipc.open_stream(schema).schema.field(0)
        limit(start)
        call = Call(load(payload, start), output, start["struct_field"])
    except ModuleNotFoundError as error:
        missing = f"the Python package {error.name} is missing: install it for {sys.executable}"
        write_frame(sink, {"error": missing})
        return
    except Refused as error:
        write_frame(sink, {"error": str(error)})
        return
    except Exception as error:
        write_frame(sink, {"error": message_of(error)})
        return
    write_frame(sink, {"network": network})

    while True:
        _, body = read_frame(source)
        limit_cpu_time(start["cpu_seconds"])
        batch = pyarrow.ipc.open_stream(body).read_next_batch()
        try:
            values, failures = call(batch)
        except Exception as error:
            values = pyarrow.nulls(batch.num_rows, output.type)
            failures = [[row, message_of(error)] for row in range(batch.num_rows)]
        sent = pyarrow.RecordBatch.from_arrays([values], schema=pyarrow.schema([output]))
        buffer = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(buffer, sent.schema) as stream:
            stream.write_batch(sent)
        write_frame(sink, {"failures": failures}, buffer.getvalue())


main()
