import { parts } from "./all-cases.js";
import { testMatrix } from "./matrix-tests.js";

testMatrix(parts[0] ?? {}, true);
