"""The driver of a Ray job: gives the fragments of the server's orders to tasks, in groups."""

import base64
import platform
import time

import lance
import ray

from joust_worker import __version__
from joust_worker.fragment import compute_fragments
from joust_worker.function import RefusedFunction
from joust_worker.server import Ended, Refused, Server

# Time between two questions for an order.
INTERVAL_SECONDS = 1
# A task whose process or host dies runs again, as after a failure of the network or of the store.
RETRIES = {"max_retries": 3, "retry_exceptions": [OSError]}


# Groups of fragments for each task that runs at the same time: with more of them the last ones end at the same time, with
# fewer the function is loaded less often.
GROUPS = 4


class Driver:
    def __init__(self, server):
        self.server = server
        self.order_id = None
        self.order = None
        # A reference to the order in the object store.
        self.shared = None
        # Groups of fragments that no task computes yet.
        self.pending = []
        # The fragments of each task.
        self.running = {}
        self.compute = ray.remote(compute_fragments)

    def run(self):
        while True:
            self.take_order()
            self.start_tasks()
            self.take_results()
            if not self.running and not self.pending:
                # A server that was restarted may need fragments again that a task has handed over before.
                self.order_id = None

    def take_order(self):
        answer = self.server.post("order", {"known": self.order_id or ""})
        order_id = answer.get("order_id")
        if order_id is None:
            self.order_id, self.pending = None, []
        elif order_id != self.order_id:
            self.order_id, self.order = order_id, answer["order"]
            self.order["payload"] = base64.b64decode(self.order["payload"])
            self.shared = ray.put(self.order)
            running = {identity(one) for group in self.running.values() for one in group}
            fragments = [one for one in self.order["fragments"] if identity(one) not in running]
            self.pending = groups(fragments, GROUPS * self.slots())

    def slots(self):
        """How many tasks run at the same time."""
        cluster = ray.cluster_resources()
        of = [cluster.get("CPU", 1) / self.order["cpus"]] if self.order["cpus"] > 0 else []
        if self.order["gpus"] > 0:
            of.append(cluster.get("GPU", 0) / self.order["gpus"])
        slots = max(1, int(min(of, default=1)))
        return min(slots, self.order["concurrency"] or slots)

    def start_tasks(self):
        if not self.pending:
            return
        most = self.order["concurrency"] or len(self.pending) + len(self.running)
        resources = {"num_cpus": self.order["cpus"], "num_gpus": self.order["gpus"]}
        task = self.compute.options(name=f"joust: {self.order['column']}", **RETRIES, **resources)
        while self.pending and len(self.running) < most:
            group = self.pending.pop(0)
            self.running[task.remote(self.server, self.shared, group)] = group

    def take_results(self):
        if not self.running:
            time.sleep(INTERVAL_SECONDS)
            return
        done, _ = ray.wait(list(self.running), timeout=INTERVAL_SECONDS)
        for task in done:
            del self.running[task]
            try:
                ray.get(task)
            except ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, Ended):
                    raise error.cause from error
                raise Failed(self.order["column"], error.cause) from error
            except ray.exceptions.RayError as error:
                raise Failed(self.order["column"], error) from error


class Failed(Exception):
    """A column cannot be computed."""

    def __init__(self, column, error):
        text = str(error).strip()
        if not isinstance(error, (Refused, RefusedFunction)):
            # Of Ray's own errors, the first line says what happened.
            first = text.splitlines()[0] if text else ""
            text = f"workers on Ray could not compute the column `{column}`: {type(error).__name__}: {first}"
        super().__init__(text)


def identity(fragment):
    return fragment["id"], fragment["key"]


def groups(fragments, count):
    """Neighbouring fragments, in groups of about the same number of rows."""
    least = sum(one["rows"] for one in fragments) / count
    made, rows = [], 0
    for fragment in fragments:
        if not made or rows >= least:
            made.append([])
            rows = 0
        made[-1].append(fragment)
        rows += fragment["rows"]
    return made


def main():
    server = Server.of_environment()
    versions = {"joust_worker": __version__, "lance": lance.__version__}
    print(f"joust_worker {__version__}, {versions}, Python {platform.python_version()}", flush=True)
    try:
        server.claim(versions)
        ray.init()
        Driver(server).run()
    except Ended as ended:
        print(f"the job has ended: {ended}", flush=True)
    except (Failed, Refused) as failed:
        print(failed, flush=True)
        try:
            server.post("report", {"failure": str(failed)})
        except (Ended, Refused):
            return 1
    return 0
