"""joust: a server for Lance tables, started from Python.

>>> import joust, lancedb
>>> with joust.Server("./data") as server:
...     db = lancedb.connect(**server.lancedb())
"""

from ._server import Server, ServerError

__all__ = ["Server", "ServerError"]
