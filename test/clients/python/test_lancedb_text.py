"""`lancedb` 0.40 in remote mode: full-text and hybrid search."""

from datetime import timedelta

import lancedb
import pyarrow as pa
import pytest
from lancedb.index import FTS
from lancedb.query import (
    BooleanQuery,
    BoostQuery,
    MatchQuery,
    MultiMatchQuery,
    Occur,
    PhraseQuery,
)
from lancedb.rerankers import LinearCombinationReranker, MRRReranker, RRFReranker

WAIT = timedelta(seconds=60)

STORIES = [
    ("the quick brown fox", "a fox jumps over the lazy dog"),
    ("a lazy afternoon", "the dog sleeps and the cat sleeps"),
    ("brown bread", "how to bake bread at home with brown flour"),
    ("quick meals", "bread and cheese make a quick meal"),
    ("the dog days", "summer is hot and lazy"),
    ("fox in the snow", "an arctic fox hunts in the snow"),
]


@pytest.fixture(scope="module")
def table(server):
    """Six stories with two indexed text columns, and a vector that is nearest to its own id."""
    database = lancedb.connect("db://joust", api_key=server.key, host_override=server.url)
    rows = [
        {"id": id, "title": title, "body": body, "vector": [float(id), 1.0]}
        for id, (title, body) in enumerate(STORIES)
    ]
    table = database.create_table("stories", rows)
    config = FTS(with_position=True, stem=True, remove_stop_words=False)
    for column in ("title", "body"):
        table.create_index(column, config=config, wait_timeout=WAIT)
    return table


def found(query) -> set[int]:
    return set(query.limit(10).to_arrow()["id"].to_pylist())


def holding(word: str, column: int) -> set[int]:
    return {id for id, story in enumerate(STORIES) if word in story[column].split()}


def test_words(table):
    answer = table.search("fox", fts_columns="title").limit(5).to_arrow()
    assert set(answer["id"].to_pylist()) == holding("fox", 0) == {0, 5}
    assert answer.schema.field("_score").type == pa.float32()
    scores = answer["_score"].to_pylist()
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    # Without column names both columns are searched; words are stemmed.
    assert found(table.search("bread")) == holding("bread", 0) | holding("bread", 1) == {2, 3}
    assert found(table.search("meals", fts_columns=["title", "body"])) == {3}
    assert found(table.search("sleeping", query_type="fts")) == {1}
    assert found(table.search("nothing of this")) == set()


def test_columns_filters_and_pages(table):
    query = table.search("dog", query_type="fts").where("id > 0").select(["id", "title"])
    answer = query.with_row_id(True).limit(10).to_arrow()
    assert set(answer["id"].to_pylist()) == {1, 4}
    assert set(answer.schema.names) == {"id", "title", "_score", "_rowid"}
    all_of_them = table.search("lazy dog").limit(10).to_arrow()["id"].to_pylist()
    page = table.search("lazy dog").limit(2).offset(1).to_arrow()["id"].to_pylist()
    assert page == all_of_them[1:3]
    late = table.search("dog").where("id > 0", prefilter=False).limit(10).to_arrow()
    assert set(late["id"].to_pylist()) == {1, 4}


def test_match(table):
    assert found(table.search(MatchQuery("brown fox", "title"))) == {0, 2, 5}
    both = MatchQuery("brown fox", "title", operator="AND")
    assert found(table.search(both)) == {0}
    assert found(table.search(MatchQuery("snow", "body", boost=2.0))) == {5}


def test_fuzzy(table):
    assert found(table.search(MatchQuery("quikc", "title"))) == set()
    assert found(table.search(MatchQuery("quikc", "title", fuzziness=2))) == {0, 3}
    fixed = MatchQuery("quikc", "title", fuzziness=2, prefix_length=4, max_expansions=10)
    assert found(table.search(fixed)) == set()


def test_phrases(table):
    assert found(table.search(PhraseQuery("lazy dog", "body"))) == {0}
    assert found(table.search(PhraseQuery("dog lazy", "body"))) == set()
    assert found(table.search(PhraseQuery("jumps lazy", "body"))) == set()
    assert found(table.search(PhraseQuery("jumps lazy", "body", slop=2))) == {0}
    quoted = table.search("brown fox", fts_columns="title").phrase_query()
    assert found(quoted) == {0}


def test_boosts(table):
    positive, negative = MatchQuery("fox", "title"), MatchQuery("snow", "title")
    answer = table.search(BoostQuery(positive, negative, negative_boost=0.1)).limit(5).to_arrow()
    assert answer["id"].to_pylist() == [0, 5]
    plain = dict(zip(*table.search(positive).limit(5).to_arrow().select(["id", "_score"])))
    [_, lowered] = answer["_score"].to_pylist()
    assert lowered < max(score.as_py() for score in plain.values())


def test_several_columns(table):
    query = MultiMatchQuery("bread", ["title", "body"])
    assert found(table.search(query)) == {2, 3}
    weighted = MultiMatchQuery("dog", ["title", "body"], boosts=[100.0, 1.0])
    assert table.search(weighted).limit(3).to_arrow()["id"][0].as_py() == 4


def test_boolean(table):
    fox, snow, dog = (MatchQuery(word, "body") for word in ("fox", "snow", "dog"))
    assert found(table.search(fox & snow)) == {5}
    assert found(table.search(fox | dog)) == {0, 1, 5}
    without = BooleanQuery([(Occur.MUST, fox), (Occur.MUST_NOT, snow)])
    assert found(table.search(without)) == {0}
    nested = BooleanQuery([(Occur.SHOULD, without), (Occur.SHOULD, PhraseQuery("hot and lazy", "body"))])
    assert found(table.search(nested)) == {0, 4}


def test_rows_after_the_index_are_found(database, name):
    table = database.create_table(name, [{"id": 1, "text": "an apple"}])
    table.create_index("text", config=FTS(), wait_timeout=WAIT)
    table.add([{"id": 2, "text": "two apples"}])
    assert found(table.search("apple")) == {1, 2}
    assert found(table.search("apple", fast_search=True)) <= {1, 2}
    table.delete("id = 1")
    assert found(table.search("apple")) == {2}


def test_a_search_without_an_index(database, name):
    """A named column is scanned without an index; without a name there is no column to search."""
    table = database.create_table(name, [{"id": 1, "text": "an apple"}, {"id": 2, "text": "a pear"}])
    assert found(table.search("apple", fts_columns="text")) == {1}
    with pytest.raises(Exception, match="index"):
        table.search("apple").limit(3).to_arrow()


def test_the_clients_own_tokenizer_reads_the_index(table):
    tokens = [token.text for token in table.tokenize("Sleeping Foxes", column="title")]
    assert tokens == ["sleep", "fox"]


def hybrid(table, vector, text, **options):
    return table.search(query_type="hybrid", **options).vector(vector).text(text)


def test_hybrid_search(table):
    answer = hybrid(table, [3.0, 1.0], "fox").limit(4).to_arrow()
    assert answer.schema.field("_relevance_score").type == pa.float32()
    assert {0, 5} & set(answer["id"].to_pylist())
    assert answer["id"].to_pylist()[0] in {3, 5}
    scores = answer["_relevance_score"].to_pylist()
    assert scores == sorted(scores, reverse=True)
    assert "_rowid" not in answer.schema.names


def test_hybrid_search_ranks_rows_of_both_searches_first(table):
    answer = hybrid(table, [5.0, 1.0], "snow").rerank(RRFReranker(K=1)).limit(6).to_arrow()
    assert answer["id"][0].as_py() == 5
    # First in both searches: each contributes 1 / (1 + K).
    assert answer["_relevance_score"][0].as_py() == pytest.approx(1 / 2 + 1 / 2)


@pytest.mark.parametrize(
    "reranker", [RRFReranker(return_score="all"), LinearCombinationReranker(), MRRReranker()]
)
def test_rerankers(table, reranker):
    answer = hybrid(table, [5.0, 1.0], "snow").rerank(reranker).limit(3).to_arrow()
    assert answer["id"][0].as_py() == 5
    assert answer.num_rows == 3


def test_options_of_hybrid_search(table):
    query = hybrid(table, [0.0, 1.0], "dog", vector_column_name="vector", fts_columns="body")
    answer = (
        query.where("id > 0")
        .select(["id", "title"])
        .distance_type("l2")
        .nprobes(4)
        .refine_factor(2)
        .bypass_vector_index()
        .with_row_id(True)
        .limit(3)
        .to_arrow()
    )
    assert answer["id"][0].as_py() == 1
    assert 0 not in answer["id"].to_pylist()
    assert "_rowid" in answer.schema.names
    plan = hybrid(table, [0.0, 1.0], "dog").explain_plan()
    assert "KNNVectorDistance" in plan
    assert "LanceRead" in plan
    assert "MatchQuery" in plan
    second = hybrid(table, [0.0, 1.0], "dog").limit(2).offset(1).to_arrow()["id"].to_pylist()
    assert second == hybrid(table, [0.0, 1.0], "dog").limit(3).to_arrow()["id"].to_pylist()[1:]
