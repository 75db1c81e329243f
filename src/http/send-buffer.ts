import type { ResponseWriter } from "./reply.js";

/**
 * Sends a body that is in memory as a whole. Bytes that the socket does not accept follow as the
 * client reads. The request counts as in flight until the kernel has the last byte.
 */
export function sendBuffer(writer: ResponseWriter, body: Uint8Array, status: number): void {
  let ok = false;
  let sent = 0;
  const sendFrom = (offset: number) => {
    writer.addSentBytes(offset - sent);
    sent = offset;
    writer.cork(() => {
      let done: boolean;
      [ok, done] = writer.res.tryEnd(body.subarray(offset), body.byteLength);
      writer.setWaitingForClient(!done);
      if (done) writer.finish(status);
    });
    return ok;
  };
  if (!sendFrom(0)) writer.res.onWritable(sendFrom);
}
