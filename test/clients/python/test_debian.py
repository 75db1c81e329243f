"""Real input: 63,666 Debian packages with a 256-dimension embedding, over HTTP from end to end."""

import time
from pathlib import Path

import lance_namespace as ns
import numpy as np
import pyarrow as pa
import pytest
from data import read_ipc_file
from index_builds import wait_for_indexes
from joust_server import REPOSITORY
from lance_namespace_urllib3_client import models

SOURCE = REPOSITORY.parent / "shared" / "data" / "debian.arrows"
QUERIES = 100

pytestmark = pytest.mark.skipif(not SOURCE.exists(), reason=f"no {SOURCE.name} beside the checkout")


@pytest.fixture(scope="module")
def packages() -> pa.Table:
    return pa.ipc.open_stream(SOURCE.read_bytes()).read_all()


@pytest.fixture(scope="module")
def table(server, packages):
    """The loaded and indexed table: its id and the client."""
    header = {"header.Authorization": f"Bearer {server.key}"}
    rest = ns.connect("rest", {"uri": server.url, **header})
    id = ["debian"]
    started = time.monotonic()
    rest.create_table(ns.CreateTableRequest(id=id), Path(SOURCE).read_bytes())
    print(f"\nloaded {packages.num_rows} rows in {time.monotonic() - started:.1f} s")

    create = ns.CreateTableIndexRequest
    started = time.monotonic()
    # Fewer training iterations than the default: the build dominates the test time.
    quick = {"num_partitions": 64, "num_sub_vectors": 32, "max_iterations": 10}
    rest.create_table_index(
        create(id=id, column="vector", index_type="IVF_PQ", distance_type="cosine", **quick)
    )
    rest.create_table_scalar_index(create(id=id, column="size", index_type="BTREE"))
    rest.create_table_scalar_index(create(id=id, column="section", index_type="BITMAP"))
    listing = ns.ListTableIndicesRequest(id=id)
    wait_for_indexes(lambda: rest.list_table_indices(listing).indexes, 3, timeout=600)
    print(f"indexed in {time.monotonic() - started:.1f} s")
    return rest, id


def query(table, **fields) -> pa.Table:
    rest, id = table
    fields.setdefault("vector", models.QueryTableRequestVector(single_vector=[]))
    names = fields.pop("columns", None)
    if names:
        fields["columns"] = models.QueryTableRequestColumns(column_names=names)
    return read_ipc_file(rest.query_table(models.QueryTableRequest(id=id, **fields)).data)


def embedding(packages: pa.Table, row: int) -> models.QueryTableRequestVector:
    values = [float(value) for value in packages["vector"][row].as_py()]
    return models.QueryTableRequestVector(single_vector=values)


def test_counts(table, packages):
    rest, id = table
    count = ns.CountTableRowsRequest
    assert rest.count_table_rows(count(id=id)).count == packages.num_rows
    python = sum(section == "python" for section in packages["section"].to_pylist())
    found = rest.count_table_rows(count(id=id, predicate="section = 'python'")).count
    assert found == python > 0


def test_a_package_is_its_own_nearest(table, packages):
    row = packages["name"].to_pylist().index("postgresql-15")
    found = query(table, vector=embedding(packages, row), k=5, refine_factor=10, columns=["name"])
    print([name for name in found["name"].to_pylist()])
    assert found["name"][0].as_py() == "postgresql-15"


def test_filtered_vector_query(table, packages):
    row = packages["name"].to_pylist().index("postgresql-15")
    found = query(
        table,
        vector=embedding(packages, row),
        k=10,
        filter="section = 'python' AND size < 1000000",
        prefilter=True,
        columns=["name", "section", "size"],
    )
    assert found.num_rows == 10
    assert set(found["section"].to_pylist()) == {"python"}
    assert max(found["size"].to_pylist()) < 1_000_000


def test_plain_query(table, packages):
    largest = sorted(packages["size"].to_pylist())[-3]
    found = query(table, k=10, filter=f"size >= {largest}", columns=["name", "size"])
    assert found.num_rows == 3


def test_recall(table, packages):
    rows = np.random.default_rng(3).choice(packages.num_rows, QUERIES, replace=False)

    def ids(row: int, **fields) -> set[int]:
        vector = embedding(packages, int(row))
        found = query(
            table, vector=vector, k=10, distance_type="cosine", columns=["id"], **fields
        )
        return set(found["id"].to_pylist())

    exact = [ids(row, bypass_vector_index=True) for row in rows]

    def recall(**fields) -> float:
        hits = [len(ids(row, nprobes=32, **fields) & true) for row, true in zip(rows, exact)]
        return sum(hits) / (10 * QUERIES)

    plain = recall()
    refined = recall(refine_factor=10)
    print(f"recall@10 against the flat result: {plain:.3f}, with refine_factor 10: {refined:.3f}")
    assert refined >= 0.9
