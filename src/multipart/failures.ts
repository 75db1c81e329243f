import { ErrorCode, invalidInput, JoustError } from "../foundation/errors.js";

/** Open uploads of one table, and of all tables. */
export const MAX_OF_TABLE = 64;
export const MAX_OF_ALL = 4_096;

export const uploadEnded = (id: string): JoustError =>
  invalidInput(
    `the table has no upload ${JSON.stringify(id.slice(0, 80))} that is in progress: begin a new one`,
  );

export const uploadTooOld = (): JoustError =>
  invalidInput(
    "the upload began more than three days ago and takes no more parts: complete it, or begin a new one",
  );

export const mixedModes = (): JoustError =>
  invalidInput("the parts of an upload must all append or all overwrite");

export const noParts = (): JoustError =>
  invalidInput("the upload has no parts: send some, or abort it");

export const tooManyUploads = (): JoustError =>
  new JoustError(
    ErrorCode.Throttling,
    `too many uploads are in progress (at most ${MAX_OF_TABLE} of one table, ${MAX_OF_ALL} in all): complete or abort some`,
  );

export const commitInProgress = (): JoustError =>
  new JoustError(
    ErrorCode.ServiceUnavailable,
    "another server is committing this upload: try again",
  );
