"""Jobs on Ray for tables in a bucket of a real S3 server, which applies the rights of the workers to each request."""

import json
import random

import lance
import pyarrow as pa
import pytest
from data import items
from function_columns import FunctionColumns
from job_run import FRAGMENT, VIEWS, Run
from ray_head import FINAL
from ray_jobs import connect, ray_job, wait_until
from s3_store import MISSING, S3Store
from tables_in_bucket import Tables, serve

pytestmark = pytest.mark.skipif(MISSING is not None, reason=MISSING or "")

KINDS = ["backfill", "view", "chunks", "vector", "scalar", "inverted", "compaction"]
# The table that the job changes, and where its workers write.
VIEW = {"view": "w", "chunks": "words"}
FOLDER = {"vector": "_indices", "scalar": "_indices", "inverted": "_indices"}
# About 0.6 s for each fragment.
SLOW = """
import time

def double(id):
    time.sleep(0.002)
    return id * 2
"""
INTEGER = {"type": "int64"}
numbers = iter(range(1, 1_000))


@pytest.fixture(scope="module")
def store():
    with S3Store() as running:
        yield running


@pytest.fixture
def tables(head, store, request):
    credentials = getattr(request, "param", "temporary")
    with serve(head, store, f"{credentials}-{next(numbers)}", credentials) as running:
        yield running


def check_workers(tables: Tables, begin: int, *folders: str) -> None:
    """The workers have created files in these folders only, and they have tried nothing else."""
    requests = tables.store.requests()[begin:]
    own = tables.of_workers(requests)
    created = {one.object for one in own if one.creates}
    expected = tuple(f"{tables.root.removeprefix('s3://')}/{folder}/" for folder in folders)
    assert created and all(name.startswith(expected) for name in created), created
    assert [one for one in own if one.writes and not one.creates] == []
    # S3 has 403 in place of 404 for those who may not list the bucket.
    assert [one for one in own if one.status in (403, 404)] == []
    # The server has written no file of data.
    others = {one.object for one in tables.of_server(requests) if one.creates}
    assert [name for name in others if "/data/" in name] == []


@pytest.mark.parametrize(
    ("tables", "kind"),
    [
        ("server", "backfill"),
        *(("own", kind) for kind in KINDS),
        *(("temporary", kind) for kind in KINDS),
    ],
    indirect=["tables"],
)
def test_a_job_on_ray_changes_a_table_in_a_bucket(head, tables, kind):
    run = Run(tables.server, random.Random(7), has_views=kind in VIEWS)
    job = run.start(kind)
    begin = len(tables.store.requests())
    ids = sorted(row["id"] for row in run.rows("t"))
    run.done(job)
    run.check(kind, ids)
    check_stored(tables, run, kind)
    wait_until(lambda: ray_job(head, job)["status"] in FINAL)
    changed = VIEW.get(kind, "t")
    if tables.store.owner not in tables.workers:
        check_workers(tables, begin, f"{changed}.lance/{FOLDER.get(kind, 'data')}")
    for table in {"t", changed}:
        assert tables.unnamed(table) == []


def check_stored(tables: Tables, run: Run, kind: str) -> None:
    """pylance reads the same rows as the client of the server."""
    name = VIEW.get(kind, "t")
    dataset = tables.stored(name)
    names = [one for one in dataset.schema.names if one != "vector"]
    found = dataset.to_table(columns=names).to_pylist()
    expected = [{one: row[one] for one in names} for row in run.rows(name)]
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    if kind == "vector":
        row = dataset.to_table(columns=["id", "vector"], limit=1).to_pylist()[0]
        nearest = {"column": "vector", "q": row["vector"], "k": 3, "refine_factor": 20}
        assert row["id"] in dataset.to_table(columns=["id"], nearest=nearest)["id"].to_pylist()
    if kind == "compaction":
        assert len(dataset.get_fragments()) == 1


def create(tables: Tables, name: str = "t") -> FunctionColumns:
    table = connect(tables.server).create_table(name, items(FRAGMENT))
    for number in range(1, 4):
        table.add(items(FRAGMENT, start=number * FRAGMENT))
    return FunctionColumns(tables.server, name)


def done(columns: FunctionColumns, job: str) -> dict:
    ended = columns.ended(job)
    assert ended["job_state"] == "DONE", ended
    return ended["result"]


@pytest.mark.parametrize("tables", ["own", "temporary"], indirect=True)
def test_a_cancelled_backfill_removes_its_files_in_the_bucket(head, tables):
    columns = create(tables)
    columns.declare("double", SLOW, ["id"], INTEGER, entry="double")
    before, version = tables.files("t.lance", "data"), tables.stored("t").version
    job = columns.start("double", checkpoint_size=50, concurrency=1)
    checkpoint = tables.directory / "t.lance" / "_backfills" / f"{job}.json"
    wait_until(checkpoint.exists)
    accepted = set(json.loads(checkpoint.read_text())["files"])
    assert accepted and accepted <= tables.files("t.lance", "data") - before
    columns.post("/v1/jobs/cancel", {"job_id": job})
    wait_until(lambda: ray_job(head, job)["status"] == "STOPPED")
    wait_until(lambda: not checkpoint.exists())
    # Only what a killed worker has not handed over may be left.
    wait_until(lambda: len(tables.files("t.lance", "data") - before) <= 1)
    assert accepted.isdisjoint(tables.files("t.lance", "data"))
    assert before <= tables.files("t.lance", "data")
    assert tables.stored("t").version == version


def test_a_shallow_clone_is_computed_from_the_files_of_its_source(head, tables):
    create(tables)
    source = tables.location("t")
    columns = FunctionColumns(tables.server, "c")
    columns.post("/v1/table/c/clone", {"source_location": source})
    columns.declare("double", "def double(id):\n    return id * 2", ["id"], INTEGER, entry="double")
    query = "SELECT id, upper(name) AS name FROM c WHERE id % 7 <> 3"
    columns.post("/v1/materialized_view/v/create", {"query": query, "with_no_data": True})
    before = set(tables.directory.joinpath("t.lance").rglob("*"))
    for table, start in [
        ("c", lambda: columns.start("double")),
        ("v", lambda: columns.post("/v1/materialized_view/v/refresh", {})["job_id"]),
        ("c", lambda: columns.post("/v1/table/c/compact", {})["job_id"]),
    ]:
        begin = len(tables.store.requests())
        job = start()
        done(columns, job)
        wait_until(lambda: ray_job(head, job)["status"] in FINAL)
        check_workers(tables, begin, f"{table}.lance/data")
    count = 4 * FRAGMENT
    read = tables.stored("c").to_table(columns=["id", "double"])
    assert sorted(zip(*(column.to_pylist() for column in read), strict=True)) == [
        (id, id * 2) for id in range(count)
    ]
    read = tables.stored("v").to_table(columns=["id", "name"])
    assert sorted(zip(*(column.to_pylist() for column in read), strict=True)) == [
        (id, f"ITEM {id}") for id in range(count) if id % 7 != 3
    ]
    assert set(tables.directory.joinpath("t.lance").rglob("*")) == before
    assert tables.stored("t").count_rows() == count


def test_a_file_of_several_parts_is_written_with_temporary_credentials(head, tables):
    """lance sends files of more than 5 MiB in parts. The name of a table in a namespace has a `$`."""
    random.seed(7)
    database = connect(tables.server)
    columns = FunctionColumns(tables.server, "team$t")
    columns.post("/v1/namespace/team/create", {})
    for start in (0, 200, 400, 600):
        rows = {
            "id": [start + id for id in range(200)],
            "content": [random.randbytes(10_000) for _ in range(200)],
        }
        if start == 0:
            table = database.create_table("t", pa.table(rows), namespace_path=["team"])
        else:
            table.add(pa.table(rows))
    location = columns.post("/v1/table/team$t/describe", {})["location"]
    folder = location.removeprefix(f"{tables.root}/")
    options = tables.store.options(tables.store.owner)
    before = lance.dataset(location, storage_options=options).to_table()
    begin = len(tables.store.requests())
    job = columns.post("/v1/table/team$t/compact", {})["job_id"]
    assert done(columns, job)["fragments_removed"] == 4
    wait_until(lambda: ray_job(head, job)["status"] in FINAL)
    check_workers(tables, begin, f"{folder}/data")
    own = tables.of_workers(tables.store.requests()[begin:])
    assert "s3_CompleteMultipartUpload" in {one.operation for one in own}
    dataset = lance.dataset(location, storage_options=options)
    assert len(dataset.get_fragments()) == 1
    assert dataset.to_table().sort_by("id").equals(before.sort_by("id"))


def test_workers_write_only_to_the_branch_of_their_job(head, tables):
    columns = create(tables)
    columns.post("/v1/table/t/branches/create", {"name": "dev"})
    columns.post("/v1/table/t/delete", {"predicate": "id < 100", "branch": "dev"})
    before = tables.files("t.lance", "data")
    begin = len(tables.store.requests())
    job = columns.post("/v1/table/t/compact", {"branch": "dev"})["job_id"]
    assert done(columns, job)["fragments_removed"] == 4
    wait_until(lambda: ray_job(head, job)["status"] in FINAL)
    check_workers(tables, begin, "t.lance/tree/dev/data")
    assert tables.files("t.lance", "data") == before
    options = tables.store.options(tables.store.owner)
    branch = lance.dataset(f"{tables.location('t')}/tree/dev", storage_options=options)
    ids = branch.to_table(columns=["id"])["id"].to_pylist()
    assert sorted(ids) == list(range(100, 4 * FRAGMENT))
