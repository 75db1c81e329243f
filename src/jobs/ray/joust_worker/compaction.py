"""Merges groups of fragments into files that no version of the table names."""

import json

from lance.optimize import CompactionTask

from joust_worker.tables import open_table, renewed
from joust_worker.tasks import do_each

GROUPS = None
USES_GPUS = False


def title(_order):
    return "joust: compaction"


def purpose(_order):
    return "rewrite the fragments"


def do_tasks(server, order, tasks):
    order = renewed(server, order)
    dataset = open_table(order)

    def do(task, _heartbeat):
        rewritten = json.loads(group(dataset, order, task).execute(dataset).json())
        files = [file["path"] for one in rewritten["new_fragments"] for file in one["files"]]
        return {"files": files}

    do_each(server, tasks, do)


def group(dataset, order, task):
    """The task as lance plans it. The fragments are those of the version, so the order has their ids only."""
    fragments = [dataset.get_fragment(id).metadata.to_json() for id in task["fragments"]]
    planned = {"task": {"fragments": fragments}, "read_version": order["version"]}
    return CompactionTask.from_json(json.dumps({**planned, "options": order["options"]}))
