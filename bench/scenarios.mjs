import { tableFromArrays, tableFromIPC, tableToIPC } from "apache-arrow";
import { post } from "./table.mjs";

const QUERIES = 500;
const ARROW = "application/vnd.apache.arrow.stream";
const smallRows = tableToIPC(
  tableFromArrays({
    id: Int32Array.from({ length: 10 }, (_, row) => row),
    price: Float64Array.from({ length: 10 }, (_, row) => row / 2),
  }),
  "stream",
);

/**
 * What is measured. `bodies` are sent in turn to `operation`; `check` throws unless an answer is
 * what it should be, so that nobody is measured doing less than the others. `indexed` ones need the
 * vector index. `prepare` makes the table that is written to; without it the real table is asked.
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
  insert1: inserts(1),
  insert8: inserts(8),
  insert64: inserts(64),
};

/** Each request adds 10 rows to a table of its own measurement. */
function inserts(connections) {
  return {
    title: `insert 10 rows, ${connections} clients`,
    operation: "insert",
    contentType: ARROW,
    connections,
    async prepare(server) {
      const table = `inserts_${Date.now()}`;
      await post(server, table, "create", smallRows, ARROW);
      return table;
    },
    bodies: () => [smallRows],
    async check(answer) {
      await answer.json();
    },
  };
}

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
