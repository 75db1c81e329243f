"""Opens the table of an order."""

import lance

from joust_worker import LANCE_VERSION
from joust_worker.server import Refused


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
