/**
 * joust's engine as a library: Lance tables from Node, without the server.
 *
 * @example
 * import { Engine } from "joust/engine";
 * const table = new Engine().table("/data/items.lance");
 */
import { native } from "./native.js";

export type * from "../../native/index.js";

export const {
  Engine,
  FlightServer,
  RemoteWork,
  Table,
  Task,
  Upload,
  cancelQuery,
  checkRowFilter,
  endTraceStart,
  flightStats,
  forwardLog,
  functionProgram,
  startTrace,
  takeTrace,
  versions,
  vendCredentials,
} = native;
export type Engine = InstanceType<typeof Engine>;
export type FlightServer = InstanceType<typeof FlightServer>;
export type RemoteWork = InstanceType<typeof RemoteWork>;
export type Table = InstanceType<typeof Table>;
export type Task = InstanceType<typeof Task>;
export type Upload = InstanceType<typeof Upload>;
export type RemovalPermit = InstanceType<typeof native.RemovalPermit>;
/** An Arrow IPC stream: as an upload that is still arriving, or as a whole. */
export type ArrowBody = Upload | Uint8Array;
