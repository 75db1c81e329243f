import type { Reply } from "../operation.js";

/** Changes the value of a JSON reply. */
export const onValue =
  (change: (value: Record<string, unknown>) => unknown) =>
  (reply: Reply): Reply =>
    reply.kind === "json"
      ? { ...reply, value: change(reply.value as Record<string, unknown>) }
      : reply;
