import { join } from "node:path";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, describe } from "vitest";
import {
  type CatalogOptions,
  type OpenCatalog,
  openCatalog,
} from "../../src/server/open-catalog.js";
import { type Postgres, postgresMissing, startPostgres } from "../harness/postgres.js";
import { removeDir, tempDir } from "../harness/temp.js";

export const quiet = pino({ level: "silent" });

/** A new, empty catalog that may be opened more than once. */
export interface TestCatalog {
  readonly root: string;
  readonly url: string;
  open(role?: CatalogOptions["role"]): Promise<OpenCatalog>;
}

/** Runs the same tests on SQLite and on Postgres; every opened catalog is closed after each test. */
export function describeOnEachDatabase(
  suite: (newCatalog: () => TestCatalog, kind: "sqlite" | "postgres") => void,
): void {
  let cleanUp: (() => Promise<void> | void)[] = [];
  const after = async () => {
    for (const step of cleanUp.reverse()) await step();
    cleanUp = [];
  };

  const newCatalog = (urlFor: (root: string) => string): TestCatalog => {
    const root = tempDir("catalog");
    cleanUp.push(() => removeDir(root));
    const url = urlFor(root);
    return {
      root,
      url,
      async open(role = "server") {
        const opened = await openCatalog({ root, url, log: quiet, role });
        let open = true;
        const close = async () => {
          if (open) await opened.close();
          open = false;
        };
        cleanUp.push(close);
        return { ...opened, close };
      },
    };
  };

  describe("on SQLite", () => {
    afterEach(after);
    suite(() => newCatalog((root) => join(root, ".joust", "catalog.db")), "sqlite");
  });

  describe.skipIf(postgresMissing)(
    `on Postgres${postgresMissing ? ` (${postgresMissing})` : ""}`,
    () => {
      let postgres: Postgres;
      beforeAll(async () => {
        postgres = await startPostgres();
      });
      afterAll(() => postgres.stop());
      afterEach(after);
      suite(() => newCatalog(() => postgres.createDatabase()), "postgres");
    },
  );
}

/** Reserves and publishes a table. */
export async function makeTable(
  { catalog }: Pick<OpenCatalog, "catalog">,
  id: readonly string[],
  properties: Record<string, string> = {},
  creator: string | null = null,
) {
  const table = await catalog.reserveTable(id, { properties, storageOptions: {}, creator });
  await catalog.activateTable(table.key);
  return table;
}
