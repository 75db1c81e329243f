/** @import { Contender } from "../types.js" */
import { fileOf } from "../data/tables.mjs";
import { httpContender, send } from "./http-contender.mjs";
import { joust, serve } from "./joust.mjs";

/**
 * The server with a table without indexes.
 *
 * @param {{ key: string, title: string, shallow: boolean }} contender
 * @returns {Contender}
 */
const cloneContender = ({ shallow, ...named }) => ({
  ...named,
  scenarios: ["clones"],
  checkAvailable: joust.checkAvailable,
  async prepare(workspace) {
    const { program, dialect } = await serve(workspace);
    try {
      for (const table of workspace.tables) {
        await dialect.create(table, fileOf(workspace.dataset, table));
      }
    } finally {
      await program.stop();
    }
  },
  async start(workspace) {
    const { program, dialect } = await serve(workspace);
    const { url, json } = dialect;
    const locations = new Map();
    for (const table of workspace.tables) {
      const description = await send(url, json(table, "describe", {}));
      const described = /** @type {{ location: string }} */ (await description.json());
      locations.set(table, described.location);
    }
    return {
      ...httpContender(program, { ...dialect, checkSupported: () => undefined }),
      async cloneTable(table, clone) {
        const body = { source_location: locations.get(table), is_shallow: shallow };
        await (await send(url, json(clone, "clone", body))).json();
      },
    };
  },
});

/** The clone reads the files of the table. */
export const joustClones = cloneContender({
  key: "joust-clones",
  title: "joust, shallow clone",
  shallow: true,
});

/** The clone has copies of the files. */
export const joustCopies = cloneContender({
  key: "joust-clones-deep",
  title: "joust, deep clone",
  shallow: false,
});
