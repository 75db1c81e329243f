/** @import { Contender } from "../types.js" */
import { chroma } from "./chroma.mjs";
import { fastify } from "./fastify.mjs";
import { joust, joustNode, joustThreads } from "./joust.mjs";
import { joustGranted, joustRead } from "./joust-callers.mjs";
import { joustClones, joustCopies } from "./joust-clones.mjs";
import { joustFlight } from "./joust-flight.mjs";
import { joustFunctions } from "./joust-functions.mjs";
import { joustFullViews, joustViews } from "./joust-views.mjs";
import { lance } from "./lance.mjs";
import { pgvector } from "./pgvector.mjs";
import { pylanceScript } from "./pylance-script.mjs";
import { restAdapterDefault, restAdapterSession } from "./rest-adapter.mjs";
import { datafusion, duckdbLance, duckdbParquet } from "./sql-in-process.mjs";

/** Each contender stands after the one whose tables it copies. @type {readonly Contender[]} */
export const contenders = [
  joust,
  joustThreads,
  joustNode,
  joustRead,
  joustGranted,
  joustFunctions,
  pylanceScript,
  joustViews,
  joustFullViews,
  joustClones,
  joustCopies,
  joustFlight,
  lance,
  restAdapterDefault,
  restAdapterSession,
  fastify,
  chroma,
  pgvector,
  datafusion,
  duckdbLance,
  duckdbParquet,
];
