"""The asynchronous API of `lancedb` 0.40 in remote mode: the most common calls."""

import asyncio
from datetime import timedelta

import lancedb
import pytest
from data import items, vector_of
from lancedb.index import FTS, BTree, IvfFlat
from lancedb.rerankers import RRFReranker

ROWS = items(300)
WAIT = timedelta(seconds=60)


@pytest.fixture
def run(server):
    """Runs a coroutine function on a new connection."""

    def run(work):
        async def connected():
            options = {"api_key": server.key, "host_override": server.url}
            database = await lancedb.connect_async("db://joust", **options)
            try:
                return await work(database)
            finally:
                database.close()

        return asyncio.run(connected())

    return run


def test_tables(run, name):
    async def work(database):
        await database.create_namespace([name])
        place = {"namespace_path": [name]}
        await database.create_table("one", ROWS, **place)
        await database.create_table("two", schema=ROWS.schema, **place)
        assert (await database.list_tables([name])).tables == ["one", "two"]
        assert await (await database.open_table("one", **place)).count_rows() == 300
        await database.rename_table(
            "two", "three", cur_namespace_path=[name], new_namespace_path=[name]
        )
        await database.drop_table("three", **place)
        with pytest.raises(Exception, match="already exists"):
            await database.create_table("one", ROWS, **place)
        await database.drop_namespace([name], behavior="cascade")
        assert name not in (await database.list_namespaces()).namespaces

    run(work)


def test_rows(run, name):
    async def work(database):
        table = await database.create_table(name, ROWS)
        await table.add(items(5, start=300))
        merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        merged = await merge.execute(items(10, start=300))
        assert (merged.num_updated_rows, merged.num_inserted_rows) == (5, 5)
        assert (await table.update({"name": "x"}, where="id < 2")).rows_updated == 2
        assert (await table.delete("id >= 305")).num_deleted_rows == 5
        assert await table.count_rows("name = 'x'") == 2
        assert (await table.head(2)).num_rows == 2
        assert (await table.to_arrow()).num_rows == 305
        assert (await table.stats())["num_rows"] == 305

    run(work)


def test_searches(run, name):
    async def work(database):
        table = await database.create_table(name, ROWS)
        near = vector_of(ROWS, 42)
        await table.create_index("vector", config=IvfFlat(num_partitions=4))
        await table.create_index("name", config=FTS(remove_stop_words=False))
        await table.create_index("id", config=BTree())
        await table.wait_for_index(["vector_idx", "name_idx", "id_idx"], WAIT)
        assert (await table.index_stats("id_idx")).num_indexed_rows == 300

        query = table.query().nearest_to(near).nprobes(4).where("category = 'c2'").limit(3)
        found = await query.select(["id", "category"]).to_arrow()
        assert found["id"][0].as_py() == 42
        assert set(found["category"].to_pylist()) == {"c2"}
        postfilter = table.query().nearest_to(near).nprobes(4).where("category = 'c2'").postfilter()
        assert (await postfilter.limit(1).to_list())[0]["id"] == 42
        exact = await table.query().nearest_to(near).bypass_vector_index().limit(1).to_list()
        assert exact[0]["_distance"] == pytest.approx(0, abs=1e-6)
        both = await table.query().nearest_to([near, vector_of(ROWS, 7)]).limit(1).to_list()
        assert sorted((row["query_index"], row["id"]) for row in both) == [(0, 42), (1, 7)]

        words = await table.query().nearest_to_text("42", columns=["name"]).limit(5).to_list()
        assert [row["id"] for row in words] == [42]
        hybrid = table.query().nearest_to(near).nearest_to_text("42").rerank(RRFReranker())
        assert (await hybrid.limit(3).to_list())[0]["id"] == 42

        plain = await table.query().where("id > 290").select({"twice": "id * 2"}).to_list()
        assert sorted(row["twice"] for row in plain) == [2 * id for id in range(291, 300)]
        batches = await table.query().select(["id"]).to_batches(max_batch_length=50)
        assert sum([batch.num_rows async for batch in batches]) == 300
        assert "KNN" in await exact_query(table, near).explain_plan()
        await table.drop_index("id_idx")
        assert {index.name for index in await table.list_indices()} == {"vector_idx", "name_idx"}

    run(work)


def exact_query(table, near):
    return table.query().nearest_to(near).bypass_vector_index().limit(1)


def test_versions(run, name):
    async def work(database):
        table = await database.create_table(name, ROWS)
        await table.delete("id >= 100")
        await table.tags.create("all", 1)
        await table.checkout("all")
        assert await table.count_rows() == 300
        await table.restore()
        assert await table.version() == 3
        assert [version["version"] for version in await table.list_versions()] == [1, 2, 3]
        assert await table.tags.get_version("all") == 1
        await table.tags.delete("all")
        branch = await table.branches.create("dev", from_version=2)
        assert await branch.count_rows() == 100
        await table.add_columns({"twice": "price * 2"})
        await table.alter_columns({"path": "twice", "rename": "double"})
        await table.drop_columns(["double"])
        assert await table.schema() == ROWS.schema

    run(work)


def test_concurrent_requests(run, name):
    """Concurrent appends and reads of one table neither fail nor lose rows."""

    async def work(database):
        table = await database.create_table(name, schema=ROWS.schema)
        near = vector_of(ROWS, 1)
        writes = [table.add(ROWS.slice(10 * part, 10)) for part in range(30)]
        reads = [table.query().nearest_to(near).limit(5).to_arrow() for _ in range(30)]
        await asyncio.gather(*writes, *reads)
        assert await table.count_rows() == 300

    run(work)
