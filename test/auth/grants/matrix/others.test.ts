import { parts } from "./all-cases.js";
import { testMatrix } from "./matrix-tests.js";

await testMatrix(parts[1] ?? {}, false);
