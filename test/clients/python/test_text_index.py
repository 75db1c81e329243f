"""An FTS index is an entry of joust's index type in the table: other tools ignore and keep it."""

from datetime import timedelta

import lance
import lance_namespace as ns
import lancedb
import pyarrow as pa
import pytest
from data import ipc_stream, read_ipc_file
from index_builds import wait_for_indexes
from joust_server import JoustServer, TemporaryRoot
from lance_namespace_urllib3_client import models


@pytest.fixture
def root():
    with TemporaryRoot() as path:
        yield path


@pytest.fixture
def rest(root):
    """Client of a server whose table `t` has 100 rows and an FTS index."""
    with JoustServer(root) as server:
        header = {"header.Authorization": f"Bearer {server.key}"}
        client = ns.connect("rest", {"uri": server.url, **header})
        client.create_table(ns.CreateTableRequest(id=["t"]), ipc_stream(texts(range(100))))
        client.create_table_index(
            ns.CreateTableIndexRequest(id=["t"], column="text", index_type="FTS")
        )
        wait_for_indexes(lambda: indexes(client), 1)
        yield client


def texts(ids):
    ids = list(ids)
    words = [f"number {i} {'cat' if i % 2 else 'dog'}" for i in ids]
    return pa.table({"id": pa.array(ids, pa.int64()), "text": words, "title": words})


def indexes(rest):
    return rest.list_table_indices(ns.ListTableIndicesRequest(id=["t"])).indexes


def cats(rest):
    """Ids of the rows whose text contains a cat."""
    words = models.StringFtsQuery(query="cats", columns=["text"])
    request = models.QueryTableRequest(
        id=["t"],
        k=1000,
        vector=models.QueryTableRequestVector(single_vector=[]),
        full_text_query=models.QueryTableRequestFullTextQuery(string_query=words),
    )
    return sorted(read_ipc_file(rest.query_table(request).data)["id"].to_pylist())


def odd(*bounds):
    return [i for i in range(*bounds) if i % 2]


def test_pylance_keeps_the_index(root, rest):
    assert cats(rest) == odd(100)
    path = f"{root}/t.lance"

    def table():
        return lance.dataset(path)

    assert list(table().describe_indices()) == []
    assert table().count_rows("id > 10") == 89
    table().create_scalar_index("id", "BTREE")
    lance.write_dataset(texts(range(100, 150)), path, mode="append")
    assert cats(rest) == odd(150)
    table().delete("id < 10")
    assert cats(rest) == odd(10, 150)

    table().update({"text": "'a cat'"}, where="id = 20")
    table().update({"title": "'x'"}, where="id = 21")
    assert cats(rest) == sorted([*odd(10, 150), 20])

    merge = table().merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    merge.execute(texts([30, 200, 201]))
    expected = sorted([*odd(10, 150), 20, 201])
    assert cats(rest) == expected

    table().optimize.optimize_indices()
    table().optimize.compact_files()
    assert cats(rest) == expected
    table().create_scalar_index("title", "INVERTED")
    table().cleanup_old_versions(older_than=timedelta(0))
    assert cats(rest) == expected
    assert sorted(index.index_type for index in indexes(rest)) == ["BTREE", "FTS", "INVERTED"]


def test_lancedb_opens_the_table_and_drops_it(root, rest):
    table = lancedb.connect(root).open_table("t")
    assert table.count_rows("id > 10") == 89
    table.add(texts([100, 101]))
    table.delete("id = 1")
    table.optimize()
    assert cats(rest) == [i for i in odd(102) if i != 1]
    table.drop_index("text_idx")
    assert indexes(rest) == []
