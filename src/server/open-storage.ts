import type { Config } from "../config/config.js";
import type { Epoch } from "../database/sqlite/reader.js";
import { Engine } from "../engine/index.js";
import { withVersionCleanUpAnswers } from "../maintenance/version-clean-up-answers.js";
import type { Logger } from "../telemetry/logger.js";
import { type OpenCatalog, openCatalog } from "./open-catalog.js";
import { openRoot } from "./open-root.js";

export interface Storage {
  readonly engine: Engine;
  /** The caller closes it. */
  readonly store: OpenCatalog;
}

/** Opens the root and the catalog as a member of the cluster. `epoch`: shared with other threads. */
export async function openStorage(config: Config, log: Logger, epoch?: Epoch): Promise<Storage> {
  const { root, storageOptions, catalog: url, catalogKeys } = config;
  const engine = new Engine({ ...config, remoteFunctions: config.ray?.runsFunctions === true });
  await openRoot(engine, config);
  const catalog = await openCatalog({
    root,
    url,
    log,
    role: "server",
    onLease: (leftMs) => engine.renewLease(leftMs),
    ...(epoch && { epoch }),
    ...(catalogKeys && { secretKeys: catalogKeys }),
  });
  // From here on other members wait for answers of this one before they remove versions.
  const store = await withVersionCleanUpAnswers(catalog, { engine, storageOptions, log });
  return { engine, store };
}
