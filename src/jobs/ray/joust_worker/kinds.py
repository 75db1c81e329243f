"""What workers can do: a module for each kind of order. Each of them has

- `GROUPS`: how many groups of tasks there are for each Ray task that runs at the same time; None: each task is a group,
- `USES_GPUS`: whether its Ray tasks reserve graphics processors if they call a function,
- `title(order)`: the name of its Ray tasks,
- `purpose(order)`: what it does, for the message of a failure: "could not ...",
- `do_tasks(server, order, tasks)`: does a group of tasks in a Ray task, each with `tasks.do_each`.
"""

from joust_worker import backfill, compaction, index, view, view_query

KINDS = {
    "backfill": backfill,
    "compaction": compaction,
    "index": index,
    "view": view,
    "view_query": view_query,
}
