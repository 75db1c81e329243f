"""Calls a function in a process of its own, with the program and the limits that joust has on its own host.

joust's functions/run.rs, functions/worker.rs and functions/batch_size.rs do the same there.
"""

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

import pyarrow
import pyarrow.compute

from joust_worker.server import Refused

START_SECONDS = 600
OPEN_FILES = 256
# The task fails if more rows end their process: the function does so, not its rows.
MOST_ENDING_ROWS = 64
# The task fails if so many processes in a row end while they load the function.
MOST_LOST_STARTS = 3
FIRST_ROWS = 8
MOST_CALL_BYTES = 16 << 20
TARGET_SECONDS = 0.5
MOST_QUOTED = 500
# Ray sets the devices of a task there.
DEVICES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


class RefusedFunction(Refused):
    """The function cannot run. The message says what is missing."""


class ProcessEnded(Exception):
    """The process ended while it loaded the function or during a call. The message says why."""


class Process:
    """A process that has loaded the function."""

    def __init__(self, order, payload, output, expands):
        self.limits = order["limits"]
        self.directory = tempfile.mkdtemp(prefix="joust-function-")
        self.timer = None
        self.reason = None
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "HOME": self.directory,
            "TMPDIR": self.directory,
            **{name: os.environ[name] for name in DEVICES if name in os.environ},
            **self.limits["environment"],
        }
        self.child = subprocess.Popen(
            [sys.executable, "-I", "-B", "-c", order["program"]],
            cwd=self.directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.written = b""
        self.errors = threading.Thread(target=self.read_errors, daemon=True)
        self.errors.start()
        try:
            self.load(order, payload, output, expands)
        except BaseException:
            self.close()
            raise

    def load(self, order, payload, output, expands):
        function = order["function"]
        start = {
            "name": function["name"],
            "sha256": function["sha256"],
            "struct_field": function.get("struct_field"),
            "expands": expands,
            "memory_bytes": self.limits["memory_bytes"],
            "cpu_seconds": max(1, self.limits["cpu_time_ms"] // 1_000),
            "open_files": OPEN_FILES,
            "network": self.limits["network"],
        }
        schema = encoded(pyarrow.schema([output]), [])
        exchange = [(start, payload), ({}, schema)]
        started, _ = self.exchange(exchange, START_SECONDS, "it took longer than 10 minutes to load")
        if started.get("error") is not None:
            name = function["name"]
            error = f"the function `{name}` could not be loaded: {started['error']}"
            raise RefusedFunction(error)

    def call(self, batch):
        """The values, and the failed rows with their messages."""
        most = self.limits["call_timeout_ms"]
        body = encoded(batch.schema, [batch])
        late = f"the call took longer than {most} ms (--function-timeout)"
        called, body = self.exchange([({}, body)], most / 1_000, late)
        values = pyarrow.ipc.open_stream(body).read_next_batch().column(0)
        if len(values) != batch.num_rows:
            raise ProcessEnded("its process sent another number of values")
        return values, [(row, message) for row, message in called["failures"]]

    def exchange(self, frames, seconds, late):
        """Sends frames and returns the answer. A process that takes too long is killed."""
        timer = threading.Timer(seconds, self.kill, [late])
        timer.start()
        try:
            for header, body in frames:
                write_frame(self.child.stdin, header, body)
            return read_frame(self.child.stdout)
        except (OSError, EOFError) as error:
            raise ProcessEnded(self.end()) from error
        finally:
            timer.cancel()

    def read_errors(self):
        """Keeps the end of what the process writes to standard error."""
        while chunk := self.child.stderr.read1(65_536):
            self.written = (self.written + chunk)[-MOST_QUOTED:]

    def kill(self, reason=None):
        self.reason = self.reason or reason
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def end(self):
        """Why the process has ended, and the end of what it wrote to standard error."""
        try:
            self.child.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self.kill()
        code = self.child.wait()
        if self.reason is not None:
            reason = self.reason
        elif code == -signal.SIGXCPU:
            reason = "its process took more CPU time than --function-cpu-time"
        elif code < 0:
            reason = f"its process was ended by signal {-code}"
        else:
            reason = f"its process ended with exit code {code}"
        # A child that has left the process group may hold it open.
        self.errors.join(timeout=1)
        quoted = self.written.decode("utf-8", "replace").strip()
        return f"{reason}: {quoted}" if quoted else reason

    def close(self):
        self.kill()
        self.child.wait()
        self.child.stdout.close()
        try:
            self.child.stdin.close()
        except BrokenPipeError:
            pass
        shutil.rmtree(self.directory, ignore_errors=True)


class Function:
    """Calls the function of an order with as many rows as it computes in about half a second."""

    def __init__(self, order, payload, output, expands=False):
        """`expands`: it makes rows of each row, and `output` is a list of them."""
        self.order, self.payload = order, payload
        self.output, self.expands = output, expands
        self.least, self.most = order["batches"]["least"], order["batches"]["most"]
        self.rows = min(max(FIRST_ROWS, self.least), self.most)
        self.process = None
        self.lost_starts = self.ending_rows = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.drop_process()

    def drop_process(self):
        if self.process is not None:
            self.process.close()
            self.process = None

    def compute(self, batch, on_rows):
        """The values of all rows, and the failed rows with their messages. `on_rows` gets the number of computed rows."""
        pieces, failures = [], []
        for first, values, failed in self.pieces(batch):
            pieces.append(values)
            failures += [(first + row, message) for row, message in failed]
            on_rows(first + len(values))
        if not pieces:
            return pyarrow.nulls(0, self.output.type), failures
        return pyarrow.concat_arrays(pieces), failures

    def pieces(self, batch):
        """For each call, in the order of the rows: its first row, its values, and the failed ones of its rows with their
        messages."""
        arguments = arguments_of(self.order, batch)
        count = arguments.num_rows
        bytes_per_row = arguments.nbytes // max(1, count)
        # Ranges to compute; the last one is next.
        ranges = [(0, count)]
        while ranges:
            first, rows = ranges.pop()
            called = min(rows, self.rows, max(1, MOST_CALL_BYTES // max(1, bytes_per_row)))
            if called == 0:
                continue
            if called < rows:
                ranges.append((first + called, rows - called))
            begin = time.monotonic()
            try:
                values, failed = self.started().call(arguments.slice(first, called))
            except ProcessEnded as ended:
                self.drop_process()
                self.rows = max(1, called // 2)
                if called > 1:
                    half = called // 2
                    ranges += [(first + half, called - half), (first, half)]
                    continue
                self.count(ended)
                values, failed = pyarrow.nulls(1, self.output.type), [(0, str(ended))]
            else:
                self.adapt(called, time.monotonic() - begin)
            yield first, values, failed

    def started(self):
        while self.process is None:
            try:
                self.process = Process(self.order, self.payload, self.output, self.expands)
                self.lost_starts = 0
            except ProcessEnded as ended:
                self.lost_starts += 1
                if self.lost_starts >= MOST_LOST_STARTS:
                    name = self.order["function"]["name"]
                    text = f"the function `{name}` could not be loaded: {ended}"
                    raise RefusedFunction(text) from ended
        return self.process

    def adapt(self, rows, seconds):
        wanted = int(rows * TARGET_SECONDS / max(seconds, 1e-6))
        # A fast call with the last rows of a batch does not show that more rows would be too many.
        if rows <= wanted and rows < self.rows:
            return
        wanted = min(max(wanted, rows // 2, 1), 2 * rows)
        self.rows = min(max(wanted, self.least), self.most)

    def count(self, ended):
        self.ending_rows += 1
        if self.ending_rows > MOST_ENDING_ROWS:
            name = self.order["function"]["name"]
            raise RefusedFunction(
                f"the function `{name}` ended its process for more than {MOST_ENDING_ROWS} rows; "
                f"the last time, {ended}"
            )


def arguments_of(order, batch):
    """The arguments of the function among the columns of a batch."""
    arrays = []
    for names in order["arguments"]:
        array = batch.column(names[0])
        for name in names[1:]:
            index = array.type.get_field_index(name)
            array = pyarrow.compute.struct_field(array, [index])
        arrays.append(array)
    if not arrays:
        # The function has no parameters, and the batch only a number of rows.
        empty = pyarrow.array([{}] * batch.num_rows, pyarrow.struct([]))
        return pyarrow.RecordBatch.from_struct_array(empty)
    return pyarrow.RecordBatch.from_arrays(arrays, names=order["function"]["inputs"])


def encoded(schema, batches):
    """An Arrow IPC stream."""
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    return sink.getvalue()


def write_frame(sink, header, body):
    text = json.dumps(header).encode()
    sink.write(struct.pack("<IQ", len(text), len(body)))
    sink.write(text)
    sink.write(body)
    sink.flush()


def read_frame(source):
    lengths = source.read(12)
    if len(lengths) < 12:
        raise EOFError
    header, body = struct.unpack("<IQ", lengths)
    text, content = source.read(header), source.read(body)
    if len(text) < header or len(content) < body:
        raise EOFError
    return json.loads(text), content
