"""Computes all rows of a view, into files that no version of it names: one task runs the query over its tables."""

from lance import FFILanceTableProvider

from joust_worker.plain_rows import plain
from joust_worker.sql import Session
from joust_worker.tables import open_sources, open_table, renewed
from joust_worker.tasks import do_each
from joust_worker.view_files import Files

GROUPS = None
USES_GPUS = False


def title(_order):
    return "joust: view query"


def purpose(_order):
    return "compute the rows of the view"


def do_tasks(server, order, tasks):
    order = renewed(server, order)
    view = open_table(order)

    def do(_task, heartbeat):
        with Session(order) as session, Files(order, view) as files:
            for name, table in open_sources(order):
                provider = FFILanceTableProvider(table, with_row_id=False, with_row_addr=False)
                session.register(name, provider)
            for batch in session.rows(order["sql"]):
                files.write(plain(batch).columns)
                heartbeat.beat_if_due()
            return {"files": files.close()}

    do_each(server, tasks, do)
