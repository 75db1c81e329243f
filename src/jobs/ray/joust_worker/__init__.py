"""Runs the work of joust's jobs on Ray.

joust uploads this package with each job. `python -m joust_worker` is the entry point of the job: it asks the server for
work, and runs Ray tasks that compute it.
"""

# Of joust and of Lance. The server refuses others.
__version__ = "0.1.0"
LANCE_VERSION = "14.0.2"
