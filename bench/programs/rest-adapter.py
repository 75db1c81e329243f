"""`rest-adapter.py ROOT [--shared-session]`: the REST adapter of pylance for a directory."""

import sys
import threading

import lance
import lance.namespace

root, *flags = sys.argv[1:]
session = lance.Session() if "--shared-session" in flags else None
adapter = lance.namespace.RestAdapter(
    "dir", {"root": root}, session=session, host="127.0.0.1", port=0
)
adapter.start()
print(f"listening on http://127.0.0.1:{adapter.port}", flush=True)
threading.Event().wait()
