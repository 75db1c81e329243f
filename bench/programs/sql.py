"""`sql.py datafusion|duckdb-lance|duckdb-parquet FOLDER` or `sql.py flight URI KEY`: runs SQL for the benchmark.

Reads commands as lines of JSON from stdin, and writes one line of JSON for each:

- {"do": "copy"}: writes Parquet files of the Lance tables of FOLDER
- {"do": "answer", "text"}: the rows of a statement
- {"do": "load", "texts", "clients", "seconds"}: a closed loop over the statements; each client is a thread
- {"do": "result", "text", "checked"}: the number of rows and bytes of a result that is read batch by batch; if
  `checked`, also the sum of the column `id`
"""

import json
import os
import sys
import threading
import time

engine, place, *more = sys.argv[1:]
TABLES = ["bench_rows", "bench_groups"]


class DuckDb:
    """One process-wide database; each client has a cursor. The tables are datasets of pylance or Parquet files."""

    def __init__(self):
        import duckdb

        self._database = duckdb.connect()
        self._tables = {}
        for table in TABLES:
            if engine == "duckdb-parquet":
                file = os.path.join(place, f"{table}.parquet")
                if os.path.exists(file):
                    self._database.execute(f"CREATE VIEW {table} AS SELECT * FROM '{file}'")
            else:
                import lance

                path = os.path.join(place, f"{table}.lance")
                self._tables[table] = lance.dataset(path)

    def client(self):
        cursor = self._database.cursor()
        for name, dataset in self._tables.items():
            cursor.register(name, dataset)

        def run(text):
            return cursor.sql(text).to_arrow_reader(8192)

        return run


class DataFusion:
    """One context for all clients, whose tables are the table providers of pylance."""

    def __init__(self):
        import datafusion
        import lance

        self._context = datafusion.SessionContext()
        for table in TABLES:
            dataset = lance.dataset(os.path.join(place, f"{table}.lance"))
            provider = lance.FFILanceTableProvider(dataset, with_row_id=False, with_row_addr=False)
            self._context.register_table(table, provider)

    def client(self):
        def run(text):
            return (batch.to_pyarrow() for batch in self._context.sql(text).execute_stream())

        return run


class Flight:
    """joust over Flight SQL; each client has a connection."""

    def client(self):
        import adbc_driver_flightsql.dbapi as flightsql

        options = {"username": "any", "password": more[0]}
        connection = flightsql.connect(place, db_kwargs=options, autocommit=True)
        cursor = connection.cursor()

        def run(text):
            cursor.execute(text)
            return cursor.fetch_record_batch()

        run.keep = (connection, cursor)
        return run


def copy():
    import lance
    import pyarrow.parquet as pq

    for table in TABLES:
        rows = lance.dataset(os.path.join(place, f"{table}.lance")).to_table()
        # The row groups that DuckDB writes itself: it reads them in parallel.
        pq.write_table(rows, os.path.join(place, f"{table}.parquet"), row_group_size=122_880)


def load(texts, clients, seconds):
    """Each client has its own part of the statements as its start, and waits for its answer before the next one."""
    latencies = [[] for _ in range(clients)]
    failures = [0] * clients
    runs = [client_of(index) for index in range(clients)]
    begin = time.perf_counter()
    cpu = time.process_time()

    def work(index):
        at = index * len(texts) // clients
        while (sent := time.perf_counter()) < begin + seconds:
            try:
                for _ in runs[index](texts[at % len(texts)]):
                    pass
            except Exception as error:
                failures[index] += 1
                print(error, file=sys.stderr)
            latencies[index].append((time.perf_counter() - sent) * 1000)
            at += 1

    threads = [threading.Thread(target=work, args=(index,)) for index in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    duration = time.perf_counter() - begin
    all_latencies = sorted(latency for part in latencies for latency in part)

    def percentile(share):
        return all_latencies[min(len(all_latencies) - 1, int(share * len(all_latencies)))]

    return {
        "rate": len(all_latencies) / duration,
        "requests": len(all_latencies),
        "p50": percentile(0.5),
        "p95": percentile(0.95),
        "p99": percentile(0.99),
        "failures": sum(failures),
        # In process, the load generator is the contender.
        **({"loaderCpuSeconds": time.process_time() - cpu} if engine == "flight" else {}),
    }


def result(text, checked):
    import pyarrow.compute

    rows = 0
    size = 0
    ids = 0
    for batch in client_of(0)(text):
        rows += batch.num_rows
        size += batch.nbytes
        if checked:
            ids += pyarrow.compute.sum(batch["id"]).as_py() or 0
    return {"rows": rows, "bytes": size, "sum": ids}


def answer(text):
    batches = list(client_of(0)(text))
    values = [list(row.values()) for batch in batches for row in batch.to_pylist()]
    return {"rows": len(values), "values": values}


clients = []


def client_of(index):
    while len(clients) <= index:
        clients.append(source.client())
    return clients[index]


SOURCES = {"datafusion": DataFusion, "flight": Flight}
source = None
for line in sys.stdin:
    command = json.loads(line)
    do = command.pop("do")
    try:
        if do == "copy":
            copy()
            reply = {}
        else:
            # On demand: the command `copy` writes the files that DuckDB reads.
            source = source or SOURCES.get(engine, DuckDb)()
            reply = {"load": load, "result": result, "answer": answer}[do](**command)
    except Exception as error:
        reply = {"error": f"{type(error).__name__}: {error}"[:500]}
    print(json.dumps(reply), flush=True)
