import { afterEach, beforeAll, expect, it } from "vitest";
import { Engine, RemoteWork, Task } from "../../src/engine/index.js";
import { items } from "../harness/arrow.js";
import { setupServer } from "../harness/setup-server.js";

const joust = setupServer();
const cleanUps: (() => void)[] = [];
let location: string;

beforeAll(async () => {
  ({ location } = await joust.client.createTable("t", items(20)));
  await joust.client.insert("t", items(10, { from: 20 }));
});

afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

/** A build that waits for workers. */
async function ordered(spec: object) {
  const work = new RemoteWork(0);
  const task = new Task();
  cleanUps.push(() => task.cancel());
  const built = new Engine()
    .table(location)
    .buildIndex(JSON.stringify({ name: "i", ...spec }), task, () => {}, work);
  const failure = built.then(
    () => undefined,
    (error: { message: string }) => error.message,
  );
  await work.ordered();
  return { work, failure, order: JSON.parse(work.order()?.text ?? "null") };
}

it("an order of an index has the arguments of pylance", async () => {
  const { order } = await ordered({
    column: "id",
    index_type: "bloom_filter",
    number_of_items: 100,
  });
  expect(order).toMatchObject({
    kind: "index",
    location: expect.stringContaining(location),
    arguments: {
      name: "i",
      column: "id",
      index_type: "BLOOMFILTER",
      options: {},
      config: { number_of_items: 100 },
    },
    model: null,
    tasks: [
      { fragments: [0], units: 20, key: expect.stringMatching(/^[0-9a-f]{16}$/) },
      { fragments: [1], units: 10, key: expect.stringMatching(/^[0-9a-f]{16}$/) },
    ],
  });
});

it("the order of a vector index has the trained model", async () => {
  const spec = { column: "vector", index_type: "IVF_HNSW_FLAT", num_partitions: 2 };
  const { order, work, failure } = await ordered({ ...spec, sample_rate: 4, m: 8 });
  expect(order.arguments.options).toEqual({ metric: "l2", m: 8, ef_construction: 150 });
  const { data_type, dimension, centroids, codebook, rotation } = order.model;
  expect({ data_type, codebook, rotation }).toEqual({
    data_type: "float32",
    codebook: null,
    rotation: null,
  });
  expect(Buffer.from(centroids, "base64").length).toBe(2 * 4 * dimension);
  work.fail("the workers have failed", true);
  expect(await failure).toBe("the workers have failed");
});
