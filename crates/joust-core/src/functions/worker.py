"""Runs one Python function for joust.

joust starts this program with pipes as standard input and output, and sends frames: see frames.rs. The first one has
the function, the second one the schema of the column that it computes. Each further one has the arguments of a call as
an Arrow IPC stream, whose columns are the parameters in their order. The answer has the values of the column and the
rows for which the function failed. call.py stands before this file.
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
# The most that Linux gives a user without privileges.
PIPE_BYTES = 1 << 20


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


def enlarge(pipe):
    """Lets a pipe hold the values of a usual call. A smaller one makes each side wait for the other many times."""
    if sys.platform != "linux":
        return
    import fcntl

    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except (OSError, AttributeError):
        # The user has too many large pipes, or Python is older than 3.10.
        pass


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
    for member in ("udf_pickle", "chunker_payload"):
        if isinstance(envelope.get(member), str):
            import base64

            return unpickle(base64.b64decode(envelope[member]))
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


# The program


def main():
    die_with_parent()
    # What the function prints must not get into the frames.
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    enlarge(source)
    enlarge(sink)
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
        call = Call(load(payload, start), output, start)
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
