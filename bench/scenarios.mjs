import { tableFromIPC } from "apache-arrow";

const QUERIES = 500;

/**
 * What is measured. `bodies` are sent in turn to `operation`; `check` throws unless an answer is
 * what it should be, so that nobody is measured doing less than the others. `indexed` ones need the
 * vector index.
 */
export const scenarios = {
  query: {
    title: "vector query: IVF_PQ, k 10, nprobes 20, two text columns",
    operation: "query",
    indexed: true,
    connections: 8,
    bodies: (table) => vectorsOf(table).map((vector) => JSON.stringify(vectorQuery(vector))),
    async check(answer) {
      const rows = tableFromIPC(new Uint8Array(await answer.arrayBuffer()));
      const names = rows.schema.fields.map(({ name }) => name);
      if (rows.numRows !== 10 || !names.includes("name") || !names.includes("description")) {
        throw new Error(`the query answered ${rows.numRows} rows of ${names.join(", ")}`);
      }
    },
  },
  describe: {
    title: "describe table",
    operation: "describe",
    connections: 8,
    bodies: () => ["{}"],
    async check(answer) {
      const { location } = await answer.json();
      if (!location) throw new Error("describe answered no location");
    },
  },
};

function vectorQuery(vector) {
  return {
    vector: { single_vector: [...vector] },
    k: 10,
    nprobes: 20,
    columns: { column_names: ["name", "description"] },
  };
}

function vectorsOf(table) {
  const column = table.getChild("vector");
  const step = Math.floor(table.numRows / QUERIES);
  return Array.from({ length: QUERIES }, (_, i) => column.get(i * step).toArray());
}
