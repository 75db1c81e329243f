"""Builds segments of an index, each of some fragments, in directories that no version of the table names."""

import base64

import numpy
import pyarrow
from lance.indices import IndexConfig

from joust_worker.tables import open_table, renewed
from joust_worker.tasks import do_each

GROUPS = None
USES_GPUS = False


def title(order):
    return f"joust: {order['arguments']['name']}"


def purpose(order):
    return f"build the index `{order['arguments']['name']}`"


def do_tasks(server, order, tasks):
    order = renewed(server, order)
    dataset = open_table(order)

    def do(task, heartbeat):
        callback = Callback(heartbeat)
        try:
            segment = build(dataset, order, task["fragments"], callback)
        except Exception as error:
            # Lance reports an exception of the callback as one of its own.
            raise callback.failure or error
        return described(segment)

    do_each(server, tasks, do)


def build(dataset, order, fragments, callback):
    arguments = order["arguments"]
    index_type, config = arguments["index_type"], arguments["config"]
    return dataset.create_index_uncommitted(
        arguments["column"],
        index_type if config is None else IndexConfig(index_type, config),
        name=arguments["name"],
        # The segment may belong to an index that replaces another one of this name.
        replace=True,
        fragment_ids=fragments,
        progress_callback=callback,
        **arguments["options"],
        **model_of(order),
    )


def model_of(order):
    """The arguments with the model that all segments of a vector index have in common."""
    model = order["model"]
    if model is None:
        return {}
    centroids = vectors(model, "centroids")
    options = {"num_partitions": len(centroids), "ivf_centroids": centroids}
    if model["codebook"] is not None:
        options["pq_codebook"] = vectors(model, "codebook")
    if model["rotation"] is not None:
        options["rabitq_model"] = model["rotation"]
    return options


def vectors(model, member):
    numbers = numpy.frombuffer(base64.b64decode(model[member]), dtype=model["data_type"])
    return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(numbers), model["dimension"])


def described(segment):
    type_url, details = segment.index_details
    return {
        "uuid": segment.uuid,
        "fields": segment.fields,
        "dataset_version": segment.dataset_version,
        "fragments": sorted(segment.fragment_ids),
        "index_version": segment.index_version,
        "type_url": type_url,
        "details": base64.b64encode(details).decode(),
        "files": [{"path": one.path, "size": one.size_bytes} for one in segment.files],
    }


class Callback:
    """Lance calls it while it builds. The time that a stage of Lance takes is unknown."""

    def __init__(self, heartbeat):
        self.heartbeat = heartbeat
        self.failure = None

    def __call__(self, _progress):
        try:
            self.heartbeat.beat_if_due()
        except Exception as error:
            self.failure = error
            raise
