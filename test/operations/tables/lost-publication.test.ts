import { describe, expect, it } from "vitest";
import type { Services } from "../../../src/api/services.js";
import { Engine, Upload } from "../../../src/engine/index.js";
import { ErrorCode, JoustError } from "../../../src/foundation/errors.js";
import { writeReserved } from "../../../src/operations/tables/new-table.js";
import { tableHandle } from "../../../src/tables/open-table.js";
import { describeOnEachDatabase, quiet } from "../../catalog/catalog-databases.js";
import { items } from "../../harness/arrow.js";

const nothing = { properties: {}, storageOptions: {}, creator: null };
const lost = new JoustError(ErrorCode.ServiceUnavailable, "the catalog's answer was lost");

describe("a new table whose publication fails in the catalog", () => {
  describeOnEachDatabase((newCatalog) => {
    /** Runs a create with `publish` in place of the last step. */
    async function create(publish: (done: () => Promise<void>) => Promise<void>) {
      const { catalog } = await newCatalog().open();
      const engine = new Engine();
      const services = {
        config: { storageOptions: {} },
        engine,
        log: quiet,
        catalog: new Proxy(catalog, {
          get(target, name) {
            if (name === "activateTable") {
              return (key: string) => publish(() => target.activateTable(key));
            }
            const member = Reflect.get(target, name);
            return typeof member === "function" ? member.bind(target) : member;
          },
        }),
      } as unknown as Services;
      const record = await catalog.reserveTable(["t"], nothing);
      const write = writeReserved(services, record, async (table) => {
        const upload = new Upload(engine);
        upload.push(items(3));
        upload.finish();
        return (await table.create(upload, false)).version;
      });
      await expect(write).rejects.toBe(lost);
      return { services, record };
    }

    it("keeps its files if it was published nevertheless", async () => {
      const { services, record } = await create(async (done) => {
        await done();
        throw lost;
      });
      expect(await services.catalog.table(["t"])).toEqual(record);
      expect(await tableHandle(services, record).countRows()).toBe(3);
    });

    it("leaves neither a name nor files otherwise", async () => {
      const { services, record } = await create(async () => {
        throw lost;
      });
      await expect(services.catalog.table(["t"])).rejects.toMatchObject({ code: 4 });
      await expect((async () => tableHandle(services, record).countRows())()).rejects.toMatchObject(
        { code: 4 },
      );
      expect(await services.catalog.claimOrphanedTables()).toEqual([]);
    });
  });
});
