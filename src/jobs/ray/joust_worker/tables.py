"""Opens the table of an order, with credentials that have just been made."""

import lance

from joust_worker import LANCE_VERSION
from joust_worker.server import Refused


def renewed(server, order):
    """The order with the credentials of now. A task may have waited for long, or runs again."""
    answer = server.post("order", {"known": order["order_id"]})
    # After a conflict, or on a server that was restarted, there is another order with the same tasks.
    latest = answer.get("order", answer)
    options = latest.get("storage_options", order["storage_options"])
    return {**order, "storage_options": options}


def open_table(order):
    """The version that the order reads."""
    if lance.__version__ != LANCE_VERSION:
        raise Refused(
            f"a Ray node has pylance {lance.__version__}, and this server needs {LANCE_VERSION}: "
            f"install pylance=={LANCE_VERSION} on all nodes"
        )
    return lance.dataset(
        order["location"], version=order["version"], storage_options=order["storage_options"]
    )
