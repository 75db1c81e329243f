import { apiPage } from "../openapi/page.js";
import { indexes } from "./indexes.js";
import { namespaces } from "./namespaces.js";
import type { Operation } from "./operation.js";
import { queries } from "./queries.js";
import { rows } from "./rows.js";
import { tables } from "./tables.js";

/** Operations of the namespace interface. */
export const contract: readonly Operation[] = [
  ...namespaces,
  ...tables,
  ...rows,
  ...queries,
  ...indexes,
];

/** Everything the server answers, apart from the probes of its health. */
export const operations: readonly Operation[] = [...contract, apiPage(contract)];
