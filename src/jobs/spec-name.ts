import { createHash } from "node:crypto";

/** A job's name, equal for equal specs: a job that is requested twice runs once. */
export const specName = (kind: string, spec: string): string =>
  `${kind}:${createHash("sha256").update(spec).digest("hex")}`;
