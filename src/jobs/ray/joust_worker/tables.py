"""Opens the table of an order, with credentials that have just been made."""

import lance

from joust_worker import LANCE_VERSION
from joust_worker.server import Refused


def renewed(server, order):
    """The order with the credentials of now. A task may have waited for long, or runs again."""
    answer = server.post("order", {"known": order["order_id"]})
    # After a conflict, or on a server that was restarted, there is another order with the same tasks.
    latest = answer.get("order", answer)
    names = [name for name in ("storage_options", "source_options") if name in order]
    return {**order, **{name: latest.get(name, order[name]) for name in names}}


def open_table(order):
    """The version of the order's table."""
    return open_version(order, order["storage_options"])


def open_source(order):
    """The version of the table from which the rows of a view come."""
    return open_version(order["source"], order["source_options"][0])


def open_sources(order):
    """The names of the tables of a query, in parts, and their versions."""
    for source, options in zip(order["sources"], order["source_options"], strict=True):
        yield source["name"], open_version(source, options)


def open_version(table, storage_options):
    if lance.__version__ != LANCE_VERSION:
        raise Refused(
            f"a Ray node has pylance {lance.__version__}, and this server needs {LANCE_VERSION}: "
            f"install pylance=={LANCE_VERSION} on all nodes"
        )
    return lance.dataset(
        table["location"], version=table["version"], storage_options=storage_options
    )
