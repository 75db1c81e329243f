import type { Reply } from "./operation.js";

/** Thrown for an object that the caller may not see, if the operation has a reply for a missing object. */
export class MissingObjectReply extends Error {
  constructor(readonly reply: Reply) {
    super("the object does not exist");
  }
}

/** The reply that an error carries. Throws other errors. */
export function replyForMissing(error: unknown): Reply {
  if (error instanceof MissingObjectReply) return error.reply;
  throw error;
}
