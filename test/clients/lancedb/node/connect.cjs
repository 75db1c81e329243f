/**
 * jest set-up that points LanceDB's own Node suite at joust; see ../python/joust_lancedb.py, which does
 * the same for Python.
 */
const { appendFileSync } = require("node:fs");

const sdk = require("./node_modules/@lancedb/lancedb/dist/native.js");
const { LocalTable } = require("./node_modules/@lancedb/lancedb/dist/table.js");

const databases = process.env.JOUST_SUITE_DATABASES;
const connects = process.env.JOUST_SUITE_CONNECTS;
const OPTIMIZE_MS = 20_000;

/** The test that runs, with its file: what a database is lent to. */
const owner = () => {
  const { testPath, currentTestName } = expect.getState();
  return JSON.stringify([testPath, currentTestName ?? ""]);
};

async function ask(path, body) {
  const response = await fetch(`${databases}${path}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

const isLocal = (uri) => !uri.includes("://") || /^(file|memory):/.test(uri);

const native = sdk.Connection;
let memory = 0;

async function connect(uri, options, headerProvider) {
  if (!isLocal(uri)) return native.new(uri, options, headerProvider);
  if (connects !== undefined) appendFileSync(connects, `${owner()}\n`);
  if (databases === undefined) return native.new(uri, options, headerProvider);
  memory += 1;
  const name = uri.startsWith("memory:") ? `${uri}${memory}` : uri.replace(/\/$/, "");
  const { url, key } = await ask("/lend", { owner: owner(), name });
  return native.new("db://suite", { ...options, apiKey: key, hostOverride: url }, headerProvider);
}

// Methods of a native class cannot be replaced: another object stands for the class.
sdk.Connection = {
  new: connect,
  newWithNamespace: (...args) => native.newWithNamespace(...args),
};

if (databases !== undefined) {
  // Local LanceDB builds an index before it answers; a server does it in the background.
  LocalTable.prototype.createIndex = async function (
    column,
    { waitTimeoutSeconds, ...options } = {},
  ) {
    const job = await this.createIndexAsync(column, options);
    await job.wait();
  };
  // The SDK refuses `optimize` on a remote table. The server indexes new rows of a quiet table by itself.
  LocalTable.prototype.optimize = async function () {
    const deadline = Date.now() + OPTIMIZE_MS;
    while (Date.now() < deadline) {
      const indices = await this.listIndices();
      if (indices.every((index) => index.numUnindexedRows === 0)) return;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  };

  afterEach(() => ask("/return", { owner: owner() }));
}
