"""Views of kind chunker: a Python function makes several rows of each row of a table."""

import base64
import hashlib
import json
import os
import random
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path

import cloudpickle
import lance
import pyarrow as pa
import pytest
from chunker_view import ChunkerView
from function_columns import FunctionColumns
from joust_server import JoustServer, TemporaryRoot
from waiting import wait_for

import lancedb
from lancedb.index import FTS
from lancedb.query import Query

SEED = int(os.environ.get("JOUST_TEST_SEED", time.time_ns() % 2**31))


@pytest.fixture(scope="module")
def server():
    options = [
        *("--functions", "subprocess", "--python", sys.executable),
        *("--function-timeout", "3s", "--auto-refresh-interval", "1s"),
    ]
    with TemporaryRoot() as root, JoustServer(root, arguments=options) as running:
        yield running


def texts(rows: dict[int, str | None]) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(rows.keys(), pa.int64()),
            "text": pa.array(rows.values(), pa.string()),
        }
    )


def encoded(schema: pa.Schema) -> str:
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def schema_of(**types) -> str:
    return encoded(pa.schema(types.items()))


TEXTS = {1: "one small text", 2: "", 3: "another", 4: "four five"}


@pytest.fixture
def table(database, name):
    return database.create_table(name, texts(TEXTS))


@pytest.fixture
def view(server, table):
    return ChunkerView(FunctionColumns(server, table.name), f"{table.name}_words")


def rows(database, view: ChunkerView, columns=("id", "word", "size", "__child_index")) -> list:
    """The rows of a view, sorted."""
    found = database.open_table(view.name).search().select(list(columns)).limit(100_000).to_list()
    return sorted(tuple(row[column] for column in columns) for row in found)


def expected(texts: dict[int, str]) -> list:
    return sorted(
        (id, word, len(word), position)
        for id, text in texts.items()
        for position, word in enumerate(text.split())
    )


def test_each_row_becomes_the_rows_that_the_function_yields(database, table, view):
    view.create(f"SELECT id, text FROM {table.name}")
    assert database.open_table(view.name).count_rows() == 0
    result = view.refresh()
    assert (result["mode"], result["rows_written"], result["rows_failed"]) == ("rebuild", 6, 0)
    assert rows(database, view) == expected(TEXTS)
    schema = database.open_table(view.name).schema
    assert schema.names == ["id", "text", "word", "size", "__source_row_id", "__child_index"]
    sources = table.search().with_row_id(True).limit(10).to_list()
    ids = {row["_rowid"]: row["id"] for row in sources}
    found = rows(database, view, ("__source_row_id", "id"))
    assert {(ids[source], id) for source, id in found} == {(id, id) for id in (1, 3, 4)}
    described = view.describe()
    assert (described["kind"], described["udtf_name"]) == ("chunker", "words")
    assert described["refresh_mode"] == "incremental"


def test_a_view_has_only_the_columns_that_it_inherits(database, table, view):
    query = f"SELECT id, upper(text) AS text FROM {table.name} WHERE id < 4"
    view.create(query, inherited_columns=["id"])
    view.refresh()
    schema = database.open_table(view.name).schema
    assert schema.names == ["id", "word", "size", "__source_row_id", "__child_index"]
    assert rows(database, view) == expected({1: "ONE SMALL TEXT", 3: "ANOTHER"})


def test_output_schema_names_the_columns_of_the_view(database, table, view):
    schema = pa.schema(
        [
            ("__source_row_id", pa.int64()),
            ("__child_index", pa.int32()),
            ("id", pa.int32()),
            ("word", pa.large_string()),
            ("size", pa.float64()),
        ]
    )
    query = f"SELECT id, text FROM {table.name}"
    view.create(query, output_schema=encoded(schema), outputs=None)
    view.refresh()
    assert database.open_table(view.name).schema.names == schema.names
    assert rows(database, view) == [(*row[:2], float(row[2]), row[3]) for row in expected(TEXTS)]


def test_a_refresh_calls_the_function_only_for_changed_rows(database, table, view, tmp_path):
    log = tmp_path / "calls"
    source = f"""
def words(text):
    with open({str(log)!r}, "a") as file:
        print(text, file=file)
    for word in text.split():
        yield word, len(word)
"""
    view.create(f"SELECT id, text FROM {table.name}", source)
    view.refresh()
    log.unlink()
    table.add(texts({5: "new row"}))
    table.update(where="id = 1", values={"text": "changed"})
    table.delete("id = 4")
    before = {row[0]: row for row in rows(database, view, ("id", "__source_row_id"))}
    result = view.refresh()
    assert (result["mode"], result["rows_written"], result["rows_removed"]) == ("incremental", 3, 5)
    assert sorted(log.read_text().splitlines()) == ["changed", "new row"]
    assert rows(database, view) == expected({1: "changed", 3: "another", 5: "new row"})
    # The id of a row of the source stays the same for all its life.
    after = {row[0]: row for row in rows(database, view, ("id", "__source_row_id"))}
    assert (after[1], after[3]) == (before[1], before[3])
    assert view.refresh()["rows_written"] == 0
    assert view.refresh(full=True)["mode"] == "rebuild"
    assert rows(database, view) == expected({1: "changed", 3: "another", 5: "new row"})


@pytest.mark.parametrize(
    ("parameter", "body"),
    [
        ("text", "[{'word': word, 'size': len(word)} for word in text.split()]"),
        ("text", "[Word(word, len(word)) for word in text.split()]"),
        ("text", "(Row(word, len(word)) for word in text.split())"),
        ("text", "[(word, len(word)) for word in text.split()]"),
        ("text", "[{'size': len(word), 'word': word} for word in text.split()] or None"),
        ("t: pa.Array", "[[(w, len(w)) for w in text.split()] for text in t.to_pylist()]"),
        ("t: pa.Array", "pa.array([[Word(w, len(w))._asdict() for w in s.as_py().split()] for s in t])"),
        (
            "b: pa.RecordBatch",
            "[[(w, len(w)) for w in text.split()] for text in b['text'].to_pylist()]",
        ),
    ],
    ids=["dicts", "named tuples", "dataclasses", "tuples", "none", "arrays", "structs", "batch"],
)
def test_a_function_returns_rows_in_any_form(database, table, view, parameter, body):
    source = f"""
import collections, dataclasses
import pyarrow as pa

Word = collections.namedtuple("Word", ["word", "size"])

@dataclasses.dataclass
class Row:
    word: str
    size: int

def words({parameter}):
    return {body}
"""
    view.create(f"SELECT id, text FROM {table.name}", source)
    view.refresh()
    assert rows(database, view) == expected(TEXTS)


@pytest.mark.parametrize("body", ["text.split()", "[(word,) for word in text.split()]"])
def test_a_function_of_one_column_returns_values(database, table, view, body):
    column = {"column": "word", "data_type": "utf8"}
    source = f"def words(text): return {body}"
    view.create(f"SELECT id, text FROM {table.name}", source, outputs=[column])
    view.refresh()
    words = [(row[0], row[1]) for row in expected(TEXTS)]
    assert rows(database, view, ("id", "word")) == sorted(words)


def test_a_dict_that_a_function_fills_again_is_copied(database, table, view):
    source = """
def words(text):
    row = {}
    for word in text.split():
        row["word"] = word
        row["size"] = len(word)
        yield row
"""
    view.create(f"SELECT id, text FROM {table.name}", source)
    view.refresh()
    assert rows(database, view) == expected(TEXTS)


def test_rows_for_which_the_function_fails_have_no_rows(database, table, view):
    source = """
def words(text):
    for word in text.split():
        if word == "small":
            raise ValueError("too small")
        yield word, len(word)
    if text == "another":
        yield "no", "number"
"""
    view.create(f"SELECT id, text FROM {table.name}", source)
    ended = view.ended()
    assert ended["job_state"] == "DONE", ended
    assert (ended["result"]["rows_written"], ended["result"]["rows_failed"]) == (2, 2)
    assert rows(database, view) == expected({4: "four five"})
    listed = view.errors()
    found = {one["row_offset"]: one for one in listed["records"]}
    assert sorted(found) == [0, 2]
    assert (found[0]["error_type"], found[0]["function"]) == ("ValueError", "words")
    assert "too small" in found[0]["error_message"]
    [fragment] = listed["fragments"]
    assert (fragment["fragment_id"], fragment["rows_skipped"]) == (0, 2)
    # A changed row gets another chance.
    table.update(where="id = 1", values={"text": "one"})
    assert view.refresh()["rows_failed"] == 0
    assert rows(database, view) == expected({1: "one", 4: "four five"})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return text", "must return or yield rows, and it returned one str"),
        ("return 3", "must return or yield rows, and it returned one int"),
        ("return [{'word': 'a', 'other': 1}]", "a row with other; the columns are word, size"),
        ("return [('a', 1, 2)]", "a row of 3 values for 2 columns"),
        ("return ['a']", "returned a str in place of a row"),
    ],
)
def test_a_wrong_result_says_what_is_wrong(table, view, body, message):
    source = f"def words(text):\n    {body}"
    view.create(f"SELECT id, text FROM {table.name} WHERE id = 1", source)
    view.refresh()
    [record] = view.errors()["records"]
    assert message in record["error_message"]


def test_a_batch_that_does_not_say_which_rows_belong_together_fails(table, view):
    source = """
import pyarrow as pa

def words(text: pa.Array):
    return pa.RecordBatch.from_pydict({"word": ["a"], "size": [1]})
"""
    view.create(f"SELECT id, text FROM {table.name} WHERE id = 1", source)
    view.refresh()
    [record] = view.errors()["records"]
    assert "return a list of rows for each row" in record["error_message"]


def source_query(table: str, query: Query, **members) -> str:
    """As LanceDB's client for views serializes it."""
    base = json.loads(query.model_dump_json())
    unset = {"shuffle": None, "fragment_ids": None, "with_row_address": None, "column_udfs": None}
    named = {"source_table": table, "source_db_uri": "db://joust"}
    return json.dumps({"base": base, **unset, **named, **members})


@pytest.mark.parametrize(
    "query",
    [
        Query(columns=["id", "text"]),
        Query(),
        Query(columns=["id", "text"], filter="id <> 3 OR text = 'another'"),
        Query(columns={"id": "id + 0", "text": "text"}, with_row_id=False),
    ],
)
def test_the_payload_of_a_lancedb_client_runs(database, table, view, query):
    def words(text):
        for word in text.split():
            yield {"word": word, "size": len(word)}

    payload = base64.b64encode(cloudpickle.dumps(words)).decode()
    envelope = json.dumps({"name": "words", "version": "1", "chunker_payload": payload})
    udtf = base64.b64encode(envelope.encode()).decode()
    schema = pa.schema([("id", pa.int64()), ("word", pa.string()), ("size", pa.int64())])
    body = {
        "kind": "chunker",
        "source_query": source_query(table.name, query),
        "output_schema": encoded(schema),
        "udtf_spec": {
            "kind": "chunker",
            "udtf": udtf,
            "udtf_sha": hashlib.sha256(udtf.encode()).hexdigest(),
            "udtf_name": "words",
            "udtf_version": "1",
            "input_columns": ["text"],
            "num_cpus": 1.0,
        },
        "with_no_data": False,
    }
    job = view.send(body)["job_id"]
    assert view.columns.ended(job)["job_state"] == "DONE"
    assert rows(database, view) == expected(TEXTS)
    assert view.describe()["udtf_name"] == "words"


def test_a_function_gets_strings_from_expressions(database, table, view):
    # In DataFusion, substr gives a view of its argument.
    source = """
import pyarrow as pa
import pyarrow.compute as pc

def words(text: pa.Array):
    assert text.type == pa.string()
    return [[(w, len(w)) for w in one.split()] for one in pc.utf8_trim_whitespace(text).to_pylist()]
"""
    query = f"SELECT id, substr(text, 1, 5) AS text FROM {table.name} WHERE text <> ''"
    view.create(query, source)
    view.refresh()
    assert rows(database, view) == expected({id: text[:5] for id, text in TEXTS.items()})


def test_large_rows_are_repeated_in_several_batches(database, view, name):
    large = {id: f"{'x' * 3_000_000} a b c d e f g h" for id in range(3)}
    database.create_table(f"{name}_large", texts(large))
    source = "def words(text): return [(word, 1) for word in text.split()[1:]]"
    view.create(f"SELECT id, text FROM {name}_large", source)
    assert view.refresh()["rows_written"] == 24
    found = rows(database, view, ("id", "word", "__child_index", "text"))
    assert {len(row[3]) for row in found} == {3_000_016}
    wanted = [(id, word, n) for id in large for n, word in enumerate("abcdefgh")]
    assert [row[:3] for row in found] == wanted


def test_a_table_without_rows_or_fragments_gives_none(database, view, name):
    empty = database.create_table(f"{name}_empty", schema=texts({}).schema)
    view.create(f"SELECT id, text FROM {name}_empty")
    assert view.refresh()["rows_written"] == 0
    empty.add(texts({1: "a"}))
    assert view.refresh()["mode"] == "incremental"
    empty.delete("true")
    assert view.refresh()["rows_removed"] == 1
    assert rows(database, view) == []


def test_a_table_without_stable_row_ids_is_read_as_a_whole(server, database, view, name):
    place = Path(server.root, f"{name}_foreign.lance")
    lance.write_dataset(texts(TEXTS), place, enable_stable_row_ids=False)
    foreign = wait_for(lambda: opened(database, f"{name}_foreign"))
    view.create(f"SELECT id, text FROM {name}_foreign")
    view.refresh()
    foreign.update(where="id = 1", values={"text": "changed"})
    result = view.refresh()
    assert (result["mode"], "stable ids" in result["reason"]) == ("rebuild", True)
    assert rows(database, view) == expected({**TEXTS, 1: "changed"})


def opened(database, name):
    try:
        return database.open_table(name)
    except ValueError:
        return None


def test_a_clone_refreshes_like_its_view(database, table, view):
    view.create(f"SELECT id, text FROM {table.name}")
    view.refresh()
    described = view.columns.post(f"/v1/table/{view.name}/describe", {})
    clone = ChunkerView(view.columns, f"{view.name}_clone")
    source = {"source_location": described["location"], "is_shallow": False}
    view.columns.post(f"/v1/table/{clone.name}/clone", source)
    table.update(where="id = 1", values={"text": "changed"})
    assert clone.refresh()["mode"] == "incremental"
    assert rows(database, clone) == expected({**TEXTS, 1: "changed"})
    assert rows(database, view) == expected(TEXTS)


def test_a_function_that_fails_for_all_rows_does_not_empty_the_view(
    database, table, view, tmp_path
):
    broken = tmp_path / "broken"
    source = f"""
import os

def words(text):
    if os.path.exists({str(broken)!r}):
        raise ConnectionError("no answer")
    return [(word, len(word)) for word in text.split()]
"""
    view.create(f"SELECT id, text FROM {table.name}", source)
    view.refresh()
    broken.touch()
    ended = view.ended(full=True)
    assert ended["job_state"] == "FAILED"
    assert "failed for all 4 rows, so the view keeps its rows" in ended["failure"]["message"]
    assert "ConnectionError: no answer" in ended["failure"]["message"]
    # A few changed rows may be wrong themselves, many are not.
    table.update(where="id = 3", values={"text": "changed"})
    assert view.refresh()["rows_failed"] == 1
    table.add(texts({id: f"row {id}" for id in range(10, 110)}))
    assert "failed for all 100 rows" in view.ended()["failure"]["message"]
    broken.unlink()
    view.refresh()
    added = {id: f"row {id}" for id in range(10, 110)}
    assert rows(database, view) == expected({1: TEXTS[1], 4: TEXTS[4], **added})


def test_chunks_of_chunks_have_the_ids_of_their_view(database, table, view):
    view.create(f"SELECT id, text FROM {table.name}")
    view.refresh()
    letters = ChunkerView(view.columns, f"{view.name}_letters")
    source = "def words(word): return list(word)"
    column = {"column": "letter", "data_type": "utf8"}
    query = f"SELECT *, __child_index AS word_index FROM {view.name} WHERE id = 4"
    letters.create(query, source, input_columns=["word"], outputs=[column])
    letters.refresh()
    found = rows(database, letters, ("word_index", "__child_index", "letter"))
    assert found == [(n, m, c) for n, word in enumerate(("four", "five")) for m, c in enumerate(word)]


def test_a_limit_ends_the_work(database, view, name, tmp_path):
    log = tmp_path / "calls"
    source = f"""
def words(text):
    with open({str(log)!r}, "a") as file:
        print(text, file=file)
    return [(text, 1)]
"""
    many = database.create_table(f"{name}_limited", texts({id: f"a{id}" for id in range(1_000)}))
    many.add(texts({id: f"b{id}" for id in range(1_000)}))
    view.create(f"SELECT id, text FROM {name}_limited", source)
    assert view.refresh(output_limit=10)["rows_written"] == 10
    assert len(log.read_text().split()) <= 64
    log.unlink()
    assert view.refresh(output_limit=1_003)["rows_written"] == 1_003
    assert len(log.read_text().split()) <= 1_064


def test_a_limit_of_rows_holds_until_the_next_refresh(database, table, view):
    view.create(f"SELECT id, text FROM {table.name}")
    view.refresh()
    result = view.refresh(output_limit=4)
    assert (result["mode"], result["rows_written"], result["rows_removed"]) == ("rebuild", 4, 6)
    assert rows(database, view) == expected({1: "one small text", 3: "another"})
    # The rows that the limit left out are added.
    assert view.refresh()["mode"] == "rebuild"
    assert rows(database, view) == expected(TEXTS)


def test_a_request_bounds_the_rows_of_a_call(database, view, name):
    many = {id: "a b" for id in range(500)}
    database.create_table(f"{name}_many", texts(many))
    source = """
import pyarrow as pa

def words(text: pa.Array):
    return [[("rows", len(text))] for _ in text]
"""
    view.create(f"SELECT id, text FROM {name}_many", source)
    view.refresh(source_task_size=7)
    sizes = {row[0] for row in rows(database, view, ("size",))}
    assert max(sizes) == 7


def test_a_view_over_a_view_of_chunks_follows_it(database, table, view):
    view.create(f"SELECT id, text FROM {table.name}")
    view.refresh()
    sizes = f"{view.name}_sizes"
    query = f"SELECT id, count(*) AS n, sum(size) AS s FROM {view.name} GROUP BY id"
    job = view.columns.post(f"/v1/materialized_view/{sizes}/create", {"query": query})["job_id"]
    assert view.columns.ended(job)["job_state"] == "DONE"
    table.update(where="id = 3", values={"text": "two words"})
    view.refresh()
    job = view.columns.post(f"/v1/materialized_view/{sizes}/refresh", {})["job_id"]
    assert view.columns.ended(job)["result"]["mode"] == "incremental"
    found = database.open_table(sizes).search().to_list()
    assert sorted((row["id"], row["n"], row["s"]) for row in found) == [
        (1, 3, 12),
        (3, 2, 8),
        (4, 2, 8),
    ]


def test_new_rows_become_searchable_by_themselves(database, table, view):
    view.create(f"SELECT id, text FROM {table.name}", auto_refresh=True, with_no_data=False)
    chunks = database.open_table(view.name)
    wait_for(lambda: chunks.count_rows() == 6)
    chunks.create_index("word", config=FTS(), wait_timeout=timedelta(seconds=60))
    table.add(texts({9: "a needle"}))
    found = wait_for(lambda: chunks.search("needle", query_type="fts").to_list())
    assert [row["id"] for row in found] == [9]


def test_a_refresh_continues_with_the_fragments_that_are_done(tmp_path):
    log = tmp_path / "calls"
    source = f"""
import time

def words(text):
    time.sleep(0.4)
    with open({str(log)!r}, "a") as file:
        print(text, file=file)
    return [(text, 1)]
"""
    options = ["--functions", "subprocess", "--python", sys.executable]
    with TemporaryRoot() as root, JoustServer(root, arguments=options) as server:
        database = lancedb.connect("db://joust", api_key=server.key, host_override=server.url)
        every = {id: f"text{id}" for id in range(24)}
        table = database.create_table("t", texts({id: every[id] for id in range(4)}))
        for first in range(4, 24, 4):
            table.add(texts({id: every[id] for id in range(first, first + 4)}))
        view = ChunkerView(FunctionColumns(server, "t"), "w")
        view.create("SELECT id, text FROM t", source)
        job = view.start(concurrency=1, source_task_size=1)
        checkpoint = Path(root, "w.lance", "_backfills")
        wait_for(lambda: checkpoint.exists() and list(checkpoint.iterdir()))
        server.kill()
        time.sleep(1)
        before = log.read_text().split()
        server.__enter__()
        ended = view.columns.ended(job)
        assert ended["job_state"] == "DONE", ended
        again = log.read_text().split()[len(before) :]
        # The first fragment at least was in the checkpoint.
        assert len(again) <= 20 and not {f"text{id}" for id in range(4)} & set(again)
        database = lancedb.connect("db://joust", api_key=server.key, host_override=server.url)
        assert [row[1] for row in rows(database, view)] == sorted(every.values(), key=id_of)
        # The marker of a commit stays for an hour.
        assert {path.suffix for path in checkpoint.iterdir()} <= {".committing"}


def id_of(text: str) -> int:
    return int(text.removeprefix("text"))


def test_a_cancelled_refresh_ends_the_processes_and_changes_nothing(database, table, view, tmp_path):
    pid = tmp_path / "pid"
    source = f"""
import os, time

def words(text):
    with open({str(pid)!r}, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(2)
    return []
"""
    view.create(f"SELECT id, text FROM {table.name}", source)
    job = view.start()
    process = int(wait_for(lambda: pid.exists() and pid.read_text()))
    view.columns.post("/v1/jobs/cancel", {"job_id": job})
    wait_for(lambda: not Path(f"/proc/{process}").exists())
    assert view.columns.ended(job)["job_state"] == "CANCELLED"
    assert database.open_table(view.name).count_rows() == 0


@pytest.mark.parametrize(
    ("query", "members", "message"),
    [
        ("SELECT id, text FROM {t} LIMIT 3", {}, "the query has LIMIT or OFFSET"),
        ("SELECT text, count(*) AS n FROM {t} GROUP BY text", {}, "the query has aggregates"),
        ("SELECT a.id, a.text FROM {t} a JOIN {t} b ON a.id = b.id", {}, "the query joins tables"),
        ("SELECT id, text FROM {t}", {"input_columns": ["no"]}, "no column `no`; the query has"),
        ("SELECT id, text FROM {t}", {"inherited_columns": ["no"]}, "inherits a column `no`"),
        (
            "SELECT id, text FROM {t}",
            {"outputs": [{"column": "ID", "data_type": "utf8"}]},
            "the view has two columns",
        ),
        (
            "SELECT id, text FROM {t}",
            {"outputs": [{"column": "__child_index", "data_type": "int32"}]},
            "which joust fills",
        ),
        (
            "SELECT id, text FROM {t}",
            {"outputs": [{"column": "word", "data_type": "no"}]},
            "is no data type",
        ),
        (
            "SELECT id, text, 1 AS __child_index FROM {t}",
            {"inherited_columns": ["__child_index"]},
            "which joust fills",
        ),
        (
            "SELECT id, text FROM {t}",
            {"output_schema": schema_of(word=pa.string(), __child_index=pa.int8()), "outputs": None},
            "it must be int64",
        ),
        (
            "SELECT id, text FROM {t}",
            {"output_schema": schema_of(word=pa.json_()), "outputs": None},
            "another extension type",
        ),
    ],
)
def test_an_impossible_view_is_refused_and_leaves_nothing(table, view, query, members, message):
    with pytest.raises(AssertionError, match=message):
        view.create(query.format(t=table.name), **members)
    with pytest.raises(AssertionError, match="404"):
        view.describe()


@pytest.mark.parametrize(
    ("query", "members", "message"),
    [
        (Query(limit=3), {}, "source_query has limit"),
        (Query(vector=[1.0]), {}, "source_query has vector"),
        (Query(), {"shuffle": True}, "source_query has shuffle"),
        (Query(), {"source_table": ""}, "source_query is no query over a table"),
        (Query(filter="no = 1"), {}, "No field named no"),
    ],
)
def test_a_built_query_that_a_view_cannot_have_is_refused(table, view, query, members, message):
    with pytest.raises(AssertionError, match=message):
        view.create(source_query(table.name, query, **members))


def test_a_server_without_functions_says_so():
    with TemporaryRoot() as root, JoustServer(root) as server:
        database = lancedb.connect("db://joust", api_key=server.key, host_override=server.url)
        database.create_table("t", texts(TEXTS))
        view = ChunkerView(FunctionColumns(server, "t"), "w")
        view.create("SELECT id, text FROM t", auto_refresh=True)
        ended = view.ended()
        assert ended["job_state"] == "FAILED"
        assert "start it with --functions subprocess" in ended["failure"]["message"]


def test_each_refresh_gives_the_rows_of_the_table(database, server, name):
    """Random changes of the table and of the files of both: after a refresh the view is as if it was new."""
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    vocabulary = ["joust", "lance", "horse", "", "knight and squire", "tilt"]

    def text() -> str:
        return " ".join(chance.choices(vocabulary, k=chance.randrange(4)))

    state = {id: text() for id in range(40)}
    table = database.create_table(name, texts(state))
    view = ChunkerView(FunctionColumns(server, name), f"{name}_words")
    view.create(f"SELECT id, text FROM {name} WHERE id % 5 <> 0")
    modes = []
    states = {table.version: dict(state)}
    for _ in range(14):
        for _ in range(chance.randrange(4)):
            change = chance.choice(["add", "update", "delete", "merge", "compact", "restore", "view"])
            if change == "add":
                new = {id: text() for id in range(max(state) + 1, max(state) + 1 + chance.randrange(1, 9))}
                table.add(texts(new))
                state |= new
            elif change == "update":
                rest = chance.randrange(6)
                table.update(where=f"id % 6 = {rest}", values={"text": "updated here"})
                state |= {id: "updated here" for id in state if id % 6 == rest}
            elif change == "delete":
                rest = chance.randrange(1, 9)
                table.delete(f"id % 9 = {rest}")
                state = {id: text for id, text in state.items() if id % 9 != rest}
            elif change == "merge":
                ids = chance.sample(sorted(state), min(5, len(state)))
                new = {id: text() for id in [*ids, max(state) + 1]}
                merge = table.merge_insert("id").when_matched_update_all()
                merge.when_not_matched_insert_all().execute(texts(new))
                state |= new
            elif change == "restore":
                version = chance.choice(sorted(states))
                table.checkout(version)
                table.restore()
                state = dict(states[version])
            else:
                compacted = {"compact": name, "view": view.name}[change]
                job = view.columns.post(f"/v1/table/{compacted}/compact", {})["job_id"]
                assert view.columns.ended(job)["job_state"] == "DONE"
            states[table.version] = dict(state)
        result = view.refresh(**({"full": True} if chance.random() < 0.1 else {}))
        modes.append(result["mode"])
        wanted = {id: text for id, text in state.items() if id % 5}
        assert rows(database, view) == expected(wanted)
    assert "incremental" in modes
