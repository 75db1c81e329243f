import type { Config } from "../config/config.js";
import type { Engine } from "../engine/index.js";
import { isRemote } from "../foundation/addresses.js";
import { diskFault } from "../foundation/disk-fault.js";

/** Opens the root in the engine. @throws Error with one sentence if the disk is the cause */
export async function openRoot(
  engine: Engine,
  { root, storageOptions }: Pick<Config, "root" | "storageOptions">,
): Promise<void> {
  try {
    await engine.openRoot(root, storageOptions);
  } catch (error) {
    throw isRemote(root) ? error : diskFault(error, root, `the root ${root}`);
  }
}
