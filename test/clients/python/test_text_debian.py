"""Full-text search over real package descriptions: the ranking is compared with a plain BM25, and the
matches with those of Lance's own index."""

import math
import random
import re
from collections import Counter, defaultdict

import lance_namespace as ns
import pyarrow as pa
import pytest
from data import read_ipc_file
from index_builds import wait_for_indexes
from joust_server import JoustServer, TemporaryRoot
from lance_namespace_urllib3_client import models
from test_debian import SOURCE

pytestmark = pytest.mark.skipif(not SOURCE.exists(), reason=f"{SOURCE.name} is not here")
# Words of letters and digits in lower case, which this file can tokenize itself.
PLAIN = {"with_position": True, "stem": False, "remove_stop_words": False, "ascii_folding": False}


@pytest.fixture(scope="module")
def descriptions():
    with pa.ipc.open_stream(SOURCE.read_bytes()) as reader:
        table = reader.read_all()
    return table.select(["id", "description", "section"])


@pytest.fixture(scope="module")
def rest(descriptions):
    """A server with the descriptions twice: `own` has an FTS index, `native` has Lance's."""
    with TemporaryRoot() as root, JoustServer(root) as server:
        header = {"header.Authorization": f"Bearer {server.key}"}
        client = ns.connect("rest", {"uri": server.url, **header})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, descriptions.schema) as writer:
            writer.write_table(descriptions)
        for name, kind in [("own", "FTS"), ("native", "INVERTED")]:
            client.create_table(ns.CreateTableRequest(id=[name]), sink.getvalue().to_pybytes())
            request = ns.CreateTableIndexRequest(
                id=[name], column="description", index_type=kind, **PLAIN
            )
            client.create_table_index(request)
            listing = ns.ListTableIndicesRequest(id=[name])
            wait_for_indexes(lambda: client.list_table_indices(listing).indexes, 1)  # noqa: B023
        yield client


@pytest.fixture(scope="module")
def corpus(descriptions):
    return Corpus(descriptions)


@pytest.fixture
def seeded():
    seed = random.randrange(2**31)
    print(f"seed {seed}")
    return random.Random(seed)


def search(rest, table, query, k, **fields):
    request = models.QueryTableRequest(
        id=[table],
        k=k,
        vector=models.QueryTableRequestVector(single_vector=[]),
        columns=models.QueryTableRequestColumns(column_names=["id"]),
        full_text_query=models.QueryTableRequestFullTextQuery(
            structured_query=models.StructuredFtsQuery(query=query)
        ),
        **fields,
    )
    found = read_ipc_file(rest.query_table(request).data)
    return list(zip(found["id"].to_pylist(), found["_score"].to_pylist(), strict=True))


def match(terms, **fields):
    fields.setdefault("fuzziness", 0)
    return models.FtsQuery(match=models.MatchQuery(column="description", terms=terms, **fields))


def phrase(terms):
    return models.FtsQuery(phrase=models.PhraseQuery(column="description", terms=terms))


def kept(length):
    """A length encoded in one byte like Lucene: four significant bits above 40."""
    free = length - 24
    if free < 16:
        return length
    shift = free.bit_length() - 4
    return 24 + (free >> shift << shift)


class Corpus:
    """BM25 with k1 = 1.2 and b = 0.75 over all rows that have a text."""

    def __init__(self, table):
        self.words = {}
        self.rows_of = defaultdict(dict)
        self.section = dict(
            zip(table["id"].to_pylist(), table["section"].to_pylist(), strict=True)
        )
        for row, text in zip(
            table["id"].to_pylist(), table["description"].to_pylist(), strict=True
        ):
            if text is None:
                continue
            words = [w for w in re.findall(r"[^\W_]+", text.lower()) if len(w.encode()) < 40]
            self.words[row] = words
            for word, times in Counter(words).items():
                self.rows_of[word][row] = times
        self.length = {row: kept(len(words)) for row, words in self.words.items()}
        self.mean = sum(self.length.values()) / len(self.length)

    def scores(self, terms):
        found = defaultdict(float)
        for word in terms.split():
            rows = self.rows_of.get(word, {})
            rarity = math.log(1 + (len(self.words) - len(rows) + 0.5) / (len(rows) + 0.5))
            for row, times in rows.items():
                length = 1.2 * (0.25 + 0.75 * self.length[row] / self.mean)
                found[row] += rarity * 2.2 * times / (times + length)
        return found

    def pick(self, seeded, count):
        """Words of a random row, so that their frequencies are realistic."""
        words = self.words[seeded.choice(list(self.words)[:5000])] or ["the"]
        return [seeded.choice(words) for _ in range(count)]


@pytest.mark.parametrize("section", [None, "python"])
def test_ranking_is_bm25(rest, corpus, seeded, section):
    for _ in range(150):
        terms = " ".join(dict.fromkeys(corpus.pick(seeded, seeded.randint(1, 4))))
        wanted = {"filter": f"section = '{section}'"} if section else {}
        found = search(rest, "own", match(terms), 10, **wanted)
        scores = corpus.scores(terms)
        best = sorted(
            (score for row, score in scores.items() if section in (None, corpus.section[row])),
            reverse=True,
        )[:10]
        assert [score for _, score in found] == pytest.approx(best, rel=1e-3), terms
        for row, score in found:
            assert score == pytest.approx(scores[row], rel=1e-3), (terms, row)
            assert section in (None, corpus.section[row])


def test_matches_equal_those_of_the_native_index(rest, corpus, seeded):
    def fuzzy(word):
        return match(word, fuzziness=1, max_expansions=1000, prefix_length=1)

    for _ in range(60):
        a, b, c = corpus.pick(seeded, 3)
        words = corpus.words[seeded.choice(list(corpus.words)[:5000])]
        at = seeded.randrange(max(1, len(words) - 2))
        boolean = models.BooleanQuery(must=[match(a)], should=[match(b)], must_not=[match(c)])
        for query in [
            match(f"{a} {b}"),
            match(f"{a} {b}", operator="And"),
            phrase(" ".join(words[at : at + 2])),
            models.FtsQuery(boolean=boolean),
            fuzzy(a),
        ]:
            own = {row for row, _ in search(rest, "own", query, 100_000)}
            native = {row for row, _ in search(rest, "native", query, 100_000)}
            assert own == native, query
