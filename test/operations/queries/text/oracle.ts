/** A simple full-text search: BM25 over the rows of one table state. */

export interface Text {
  readonly id: number;
  readonly text: string | null;
}

/** A query; words are split at spaces without further analysis. */
export type Query =
  | { readonly kind: "match"; readonly words: string[]; readonly all: boolean }
  | { readonly kind: "phrase"; readonly words: string[] }
  | {
      readonly kind: "boolean";
      readonly must: Query[];
      readonly should: Query[];
      readonly not: Query[];
    };

type Scores = Map<number, number>;

/** Every matching row with its score. */
export function search(rows: readonly Text[], query: Query): Scores {
  const documents = new Map<number, string[]>();
  for (const { id, text } of rows) {
    if (text !== null) documents.set(id, text.split(" ").filter(Boolean));
  }
  return evaluate(documents, query);
}

function evaluate(documents: Map<number, string[]>, query: Query): Scores {
  switch (query.kind) {
    case "match": {
      const each = query.words.map((word) => phrase(documents, [word]));
      const result = sum(each);
      return query.all ? keep(result, (id) => each.every((scores) => scores.has(id))) : result;
    }
    case "phrase":
      return phrase(documents, query.words);
    case "boolean": {
      const all = (queries: Query[]) => queries.map((part) => evaluate(documents, part));
      const [must, should, not] = [all(query.must), all(query.should), all(query.not)];
      return keep(
        sum([...must, ...should]),
        (id) =>
          must.every((scores) => scores.has(id)) &&
          !not.some((scores) => scores.has(id)) &&
          (must.length > 0 || should.some((scores) => scores.has(id))),
      );
    }
  }
}

function phrase(documents: Map<number, string[]>, words: string[]): Scores {
  const total = documents.size;
  const mean = [...documents.values()].reduce((sum, own) => sum + own.length, 0) / total;
  const rarity = words
    .map((word) => [...documents.values()].filter((own) => own.includes(word)).length)
    .reduce((sum, n) => sum + Math.log(1 + (total - n + 0.5) / (n + 0.5)), 0);
  const result: Scores = new Map();
  for (const [id, own] of documents) {
    const times = own.filter((_, at) => words.every((word, i) => own[at + i] === word)).length;
    if (times === 0) continue;
    const length = 1.2 * (0.25 + (0.75 * own.length) / mean);
    result.set(id, (rarity * 2.2 * times) / (times + length));
  }
  return result;
}

function sum(all: Scores[]): Scores {
  const result: Scores = new Map();
  for (const scores of all) {
    for (const [id, score] of scores) result.set(id, (result.get(id) ?? 0) + score);
  }
  return result;
}

const keep = (scores: Scores, wanted: (id: number) => boolean): Scores =>
  new Map([...scores].filter(([id]) => wanted(id)));

/** The request form of a query. */
export function structure(column: string, query: Query): object {
  const terms = query.kind === "boolean" ? "" : query.words.join(" ");
  switch (query.kind) {
    case "match":
      return { match: { column, terms, fuzziness: 0, operator: query.all ? "And" : "Or" } };
    case "phrase":
      return { phrase: { column, terms } };
    case "boolean": {
      const all = (queries: Query[]) => queries.map((part) => structure(column, part));
      return {
        boolean: { must: all(query.must), should: all(query.should), must_not: all(query.not) },
      };
    }
  }
}
