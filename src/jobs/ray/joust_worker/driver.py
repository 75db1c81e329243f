"""The driver of a Ray job: gives the tasks of the server's orders to Ray tasks, in groups."""

import platform
import time

import lance
import ray

from joust_worker import __version__
from joust_worker.kinds import KINDS
from joust_worker.server import Ended, Refused, Server

# Time between two questions for an order.
INTERVAL_SECONDS = 1
# A task whose process or host dies runs again, as after a failure of the network or of the store.
RETRIES = {"max_retries": 3, "retry_exceptions": [OSError]}
# Ray tasks for each one that can run now. Ray adds nodes to the cluster only for tasks that wait.
SUBMITTED = 2


class Driver:
    def __init__(self, server):
        self.server = server
        self.order_id = None
        self.order = self.kind = None
        # A reference to the order in the object store.
        self.shared = None
        # Tasks of the order that no Ray task does yet.
        self.pending = []
        # The tasks of each Ray task.
        self.running = {}

    def run(self):
        while True:
            self.take_order()
            self.start_tasks()
            self.take_results()
            if not self.running and not self.pending:
                # A server that was restarted may need results again that a task has handed over before.
                self.order_id = None

    def take_order(self):
        answer = self.server.post("order", {"known": self.order_id or ""})
        order_id = answer.get("order_id")
        if order_id is None:
            self.order_id, self.pending = None, []
        elif order_id != self.order_id:
            self.order_id, self.order = order_id, {**answer["order"], "order_id": order_id}
            self.kind = KINDS[self.order["kind"]]
            self.shared = ray.put(self.order)
            running = {task["key"] for group in self.running.values() for task in group}
            self.pending = [task for task in self.order["tasks"] if task["key"] not in running]

    def slots(self):
        """How many Ray tasks can run at the same time now. Nodes may come and go."""
        cluster = ray.cluster_resources()
        resources = self.resources()
        of = [cluster.get("CPU", 1) / resources["num_cpus"]] if resources["num_cpus"] > 0 else []
        if resources["num_gpus"] > 0:
            of.append(cluster.get("GPU", 0) / resources["num_gpus"])
        return max(1, int(min(of, default=1)))

    def resources(self):
        calls = self.kind.USES_GPUS and "payload" in self.order
        gpus = self.order["gpus"] if calls else 0
        return {"num_cpus": self.order["cpus"], "num_gpus": gpus}

    def start_tasks(self):
        if not self.pending:
            return
        slots = self.slots()
        most = self.order["concurrency"] or SUBMITTED * slots
        do_tasks = ray.remote(self.kind.do_tasks)
        task = do_tasks.options(name=self.kind.title(self.order), **RETRIES, **self.resources())
        while self.pending and len(self.running) < most:
            group = self.next_group(min(slots, most))
            self.running[task.remote(self.server, self.shared, group)] = group

    def next_group(self, slots):
        """Takes the next tasks: neighbours, in groups of about the same number of units."""
        group = [self.pending.pop(0)]
        if self.kind.GROUPS is None:
            return group
        least = sum(task["units"] for task in self.order["tasks"]) / (self.kind.GROUPS * slots)
        units = group[0]["units"]
        while self.pending and units < least:
            group.append(self.pending.pop(0))
            units += group[-1]["units"]
        return group

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
                raise Failed(self.kind.purpose(self.order), error.cause) from error
            except ray.exceptions.RayError as error:
                raise Failed(self.kind.purpose(self.order), error) from error


class Failed(Exception):
    """Tasks cannot be done."""

    def __init__(self, purpose, error):
        text = str(error).strip()
        if not isinstance(error, Refused):
            # Of Ray's own errors, the first line says what happened.
            first = text.splitlines()[0] if text else ""
            text = f"workers on Ray could not {purpose}: {type(error).__name__}: {first}"
        super().__init__(text)


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
