import { createHash } from "node:crypto";

/** A job's name: the same for the same wish, so that one that is asked for twice runs once. */
export const specName = (kind: string, spec: string): string =>
  `${kind}:${createHash("sha256").update(spec).digest("hex")}`;
