/**
 * A small gRPC client that submits SQL as LanceDB's SDK does: `DoGet` with the command in field 2 of the ticket.
 * Nothing of Flight or protobuf is installed for it: it shows the bytes.
 */
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { type Table, tableFromIPC } from "apache-arrow";

const SERVICE = "/arrow.flight.protocol.FlightService";
const QUERY = "type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery";
const PREPARE =
  "type.googleapis.com/arrow.flight.protocol.sql.ActionCreatePreparedStatementRequest";
const TICKET_QUERY = "type.googleapis.com/arrow.flight.protocol.sql.TicketStatementQuery";

/** A gRPC status that is not OK. */
export class FlightError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly retryAfter?: string,
  ) {
    super(message);
  }
}

/** The fields of a protobuf message that have a length: texts, bytes, messages. */
type Field = readonly [number: number, value: Uint8Array];

const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];

const field = (number: number, value: Uint8Array | string): Buffer => {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes]);
};

function* fields(message: Uint8Array): Generator<Field> {
  let at = 0;
  const read = () => {
    let [value, scale] = [0, 1];
    for (;;) {
      const byte = message[at++] as number;
      value += (byte % 128) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  };
  while (at < message.length) {
    const tag = read();
    if (tag % 8 === 2) {
      const length = read();
      yield [Math.floor(tag / 8), message.subarray(at, at + length)];
      at += length;
    } else if (tag % 8 === 0) read();
    else throw new Error(`the test client cannot read the wire type ${tag % 8}`);
  }
}

const fieldOf = (message: Uint8Array | undefined, wanted: number): Uint8Array => {
  for (const [number, value] of fields(message ?? new Uint8Array())) {
    if (number === wanted) return value;
  }
  return new Uint8Array();
};

const any = (type: string, value: Uint8Array): Buffer =>
  Buffer.concat([field(1, type), field(2, value)]);

/** The ticket of a submission of LanceDB's SDK. */
export const submission = (sql: string): Buffer => field(2, any(QUERY, field(1, sql)));

/** A ticket of another server or version. */
export const foreignTicket = (): Buffer => any(TICKET_QUERY, field(1, "not a handle of joust"));

export interface FlightCall {
  readonly headers?: Record<string, string | string[]>;
  /** Sees each message; false cancels the call. */
  onMessage?(bytes: number): boolean;
}

/** One connection. */
export class FlightClient {
  readonly #session: ClientHttp2Session;

  /** `url`: http:// or https://. `key`: "" for none. */
  constructor(
    url: string,
    private readonly key: string,
    ca?: string | Buffer,
  ) {
    this.#session = connect(url, { ...(ca && { ca }) });
    this.#session.on("error", () => {});
  }

  /** The rows of a statement. @throws FlightError */
  async sql(sql: string, call: FlightCall = {}): Promise<Table> {
    return this.redeem(submission(sql), call);
  }

  /** Prepares a statement. Returns the types of its parameters. */
  async parameters(sql: string): Promise<string[]> {
    const request = any(PREPARE, field(1, sql));
    const action = Buffer.concat([field(1, "CreatePreparedStatement"), field(2, request)]);
    const [message] = await this.call("DoAction", action);
    const result = fieldOf(fieldOf(message, 1), 2);
    const schema = tableFromIPC(Buffer.concat([fieldOf(result, 3), END])).schema;
    return schema.fields.map(({ type }) => String(type));
  }

  /** The rows of a ticket. */
  async redeem(ticket: Uint8Array, call: FlightCall = {}): Promise<Table> {
    const messages = await this.call("DoGet", field(1, ticket), call);
    return tableFromIPC(Buffer.concat([...messages.map(ipcMessage), END]));
  }

  /** The messages of a reply. @throws FlightError */
  call(
    method: string,
    message: Uint8Array,
    { headers, onMessage }: FlightCall = {},
  ): Promise<Buffer[]> {
    const stream = this.#session.request({
      ":method": "POST",
      ":path": `${SERVICE}/${method}`,
      "content-type": "application/grpc",
      te: "trailers",
      ...(this.key !== "" && { authorization: `Bearer ${this.key}` }),
      ...headers,
    });
    const frame = Buffer.alloc(5);
    frame.writeUInt32BE(message.length, 1);
    stream.end(Buffer.concat([frame, message]));
    const messages: Buffer[] = [];
    let pending = Buffer.alloc(0);
    return new Promise((resolve, reject) => {
      let status: Record<string, unknown> = {};
      stream.on("response", (received) => Object.assign(status, received));
      stream.on("trailers", (received) => {
        status = { ...status, ...received };
      });
      stream.on("data", (chunk: Buffer) => {
        pending = Buffer.concat([pending, chunk]);
        while (pending.length >= 5 && pending.length >= 5 + pending.readUInt32BE(1)) {
          const end = 5 + pending.readUInt32BE(1);
          messages.push(pending.subarray(5, end));
          pending = pending.subarray(end);
          if (onMessage?.(end - 5) === false) stream.close(constants.NGHTTP2_CANCEL);
        }
      });
      stream.on("error", reject);
      stream.on("close", () => {
        const code = Number(status["grpc-status"] ?? -1);
        if (code === 0) resolve(messages);
        else {
          const message = decodeURIComponent(String(status["grpc-message"] ?? ""));
          const wait = status["retry-after"];
          reject(new FlightError(code, message, wait === undefined ? wait : String(wait)));
        }
      });
    });
  }

  close(): void {
    this.#session.close();
  }

  /** Whether the server has asked the client to close the connection, or has closed it. */
  get ended(): boolean {
    return this.#session.closed || this.#session.destroyed;
  }
}

const END = Buffer.from([255, 255, 255, 255, 0, 0, 0, 0]);

/** FlightData as a message of an Arrow IPC stream. */
function ipcMessage(data: Uint8Array): Buffer {
  let [header, body] = [new Uint8Array(), new Uint8Array()];
  for (const [number, value] of fields(data)) {
    if (number === 2) header = new Uint8Array(value);
    if (number === 1000) body = new Uint8Array(value);
  }
  const padded = Buffer.alloc(Math.ceil(header.length / 8) * 8);
  padded.set(header);
  const prefix = Buffer.from([255, 255, 255, 255, 0, 0, 0, 0]);
  prefix.writeUInt32LE(padded.length, 4);
  return Buffer.concat([prefix, padded, body]);
}
