import { tableFromIPC } from "apache-arrow";
import type { FlightCall, FlightClient } from "../harness/flight-client.js";

const GET_TABLES = "type.googleapis.com/arrow.flight.protocol.sql.CommandGetTables";

/** The command with `include_schema`, as a protobuf message. */
const command = Buffer.concat([
  Buffer.from([0x0a, GET_TABLES.length]),
  Buffer.from(GET_TABLES),
  Buffer.from([0x12, 2, 0x28, 1]),
]);

/** The end of an Arrow IPC stream. */
const END = Buffer.from([255, 255, 255, 255, 0, 0, 0, 0]);

/** GetTables with columns: the names of the columns by `schema.table`. */
export async function listTables(
  client: FlightClient,
  call?: FlightCall,
): Promise<Record<string, string[]>> {
  const tables = await client.redeem(command, call);
  const listed = tables.toArray().map((row) => {
    const { schema } = tableFromIPC(Buffer.concat([row.table_schema, END]));
    return [`${row.db_schema_name}.${row.table_name}`, schema.fields.map(({ name }) => name)];
  });
  return Object.fromEntries(listed);
}
