import type { Outgoing } from "./reply.js";

/**
 * Sends a body that is all in memory. What the socket does not take stays where it is and follows
 * as the peer reads; the exchange counts as in flight until the last byte is with the kernel.
 */
export function sendWhole(out: Outgoing, body: Uint8Array, status: number): void {
  let ok = false;
  let taken = 0;
  const sendFrom = (offset: number) => {
    out.taken(offset - taken);
    taken = offset;
    out.write(() => {
      let done: boolean;
      [ok, done] = out.res.tryEnd(body.subarray(offset), body.byteLength);
      out.blocked(!done);
      if (done) out.sent(status);
    });
    return ok;
  };
  if (!sendFrom(0)) out.res.onWritable(sendFrom);
}
