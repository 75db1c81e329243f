import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type ArrowBody, Upload } from "../../src/engine/index.js";
import { invalidInput } from "../../src/foundation/errors.js";
import { BodyLimiter } from "../../src/http/body-limiter.js";
import { head } from "../harness/socket.js";
import { waitFor } from "../harness/wait-for.js";
import { plain, setupSmallServer } from "./small-server.js";

const begun: string[] = [];
const bodies = new Map<string, ArrowBody>();
/** Blocks the handler until the test finishes it. */
class Wait {
  finish = () => {};
  work: Promise<void> | undefined;

  untilFinished(): Promise<void> {
    this.work = new Promise((resolve) => {
      this.finish = () => {
        this.work = undefined;
        resolve();
      };
    });
    return this.work;
  }
}
const wait = new Wait();
const operations = [
  plain({ id: "Take", path: "/take/{id}", body: { kind: "arrow" } }, ({ id, payload }) => {
    begun.push(id.join());
    bodies.set(id.join(), payload);
    if (id[0] === "wrong") throw invalidInput("that is wrong");
    const reply = { kind: "json", value: {} } as const;
    return wait.work ? wait.work.then(() => reply) : reply;
  }),
];

/** Sends the head and part of the body, and later the rest. */
async function begin(url: string, name: string, headers: readonly string[]) {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  await once(socket, "connect");
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  socket.write(head(`POST /take/${name} HTTP/1.1`, "Host: x", ...headers));
  return {
    send: (part: string) => socket.write(part),
    leave: () => socket.destroy(),
    async answered(status: number): Promise<void> {
      await waitFor("the answer", async () => answer.includes("\r\n\r\n"));
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      socket.destroy();
    },
  };
}

const begins = (name: string) =>
  waitFor(`the handler of ${name} begins`, async () => begun.includes(name));

async function doesNotBegin(name: string): Promise<void> {
  await sleep(100);
  expect(begun).not.toContain(name);
}

const length = (bytes: number) => [`Content-Length: ${bytes}`];

describe("the handler of an upload", () => {
  const small = setupSmallServer({ operations, config: { maxUploadBytes: 100_000 } });

  it("starts after a short body has arrived completely", async () => {
    const request = await begin(small.url, "short", length(8));
    request.send("half");
    await doesNotBegin("short");
    request.send("HALF");
    await begins("short");
    expect(bodies.get("short")).toEqual(Buffer.from("halfHALF"));
    await request.answered(200);
  });

  it("starts at once for a long body and for a body of unknown length", async () => {
    for (const [name, headers] of [
      ["long", length(64 * 1024 + 1)],
      ["unknown", ["Transfer-Encoding: chunked"]],
    ] as const) {
      const request = await begin(small.url, name, headers);
      await begins(name);
      expect(bodies.get(name)).toBeInstanceOf(Upload);
      request.leave();
    }
  });

  it("can fail immediately", async () => {
    const request = await begin(small.url, "wrong", length(4));
    request.send("all.");
    await request.answered(400);
  });

  it("never starts if the client disconnects before the body is complete", async () => {
    const request = await begin(small.url, "gone", length(8));
    request.send("half");
    await waitFor("it is in flight", async () => small.server.inFlight.size === 1);
    request.leave();
    await waitFor("no request is in flight", async () => small.server.inFlight.size === 0);
    expect(begun).not.toContain("gone");
  });
});

describe("the handler of a short upload over the size limit", () => {
  const small = setupSmallServer({ operations, config: { maxUploadBytes: 6 } });

  it("never starts", async () => {
    const request = await begin(small.url, "large", length(8));
    request.send("halfhalf");
    await request.answered(413);
    expect(begun).not.toContain("large");
  });
});

describe("the handler of an upload whose caller is looked up asynchronously", () => {
  type Caller = { id: string; name: string; role: "write"; groups: string[] };
  let resolveCaller: ((caller: Caller) => void) | undefined;
  const authenticator = {
    identify: () =>
      new Promise<Caller>((resolve) => {
        resolveCaller = resolve;
      }),
  };
  const small = setupSmallServer({ operations, authenticator });

  it("starts when both the caller and the body are known", async () => {
    for (const name of ["known last", "whole last"]) {
      const path = encodeURIComponent(name);
      const request = await begin(small.url, path, length(4));
      await waitFor("the caller is looked up", async () => resolveCaller !== undefined);
      const parts = [
        () => resolveCaller?.({ id: "1", name: "caller", role: "write", groups: [] }),
        () => request.send("all."),
      ];
      if (name === "known last") parts.reverse();
      parts[0]?.();
      await doesNotBegin(name);
      parts[1]?.();
      await request.answered(200);
      resolveCaller = undefined;
      expect(begun.filter((own) => own === name)).toHaveLength(1);
    }
  });
});

describe("the handler of a short upload without free memory", () => {
  const small = setupSmallServer({ operations, bodyLimiter: new BodyLimiter(15) });

  it("starts at once, like the handler of a long upload", async () => {
    const request = await begin(small.url, "full", length(8));
    request.send("half");
    await begins("full");
    expect(bodies.get("full")).toBeInstanceOf(Upload);
    request.send("half");
    await request.answered(200);
  });
});

describe("an upload stream with a full queue", () => {
  const pushed: number[] = [];
  let drain = () => {};
  const openUpload = () =>
    ({
      push: (chunk: Uint8Array) => {
        pushed.push(chunk.byteLength);
        return false;
      },
      drained: () =>
        new Promise<void>((resolve) => {
          drain = resolve;
        }),
      finish: () => wait.finish(),
      abort() {},
      discard() {},
    }) as unknown as Upload;
  const small = setupSmallServer({ operations, openUpload });

  it("is read further after the queue has drained", async () => {
    const answer = wait.untilFinished();
    const request = await begin(small.url, "stream", ["Transfer-Encoding: chunked"]);
    request.send("4\r\nhalf\r\n");
    await waitFor("a part is here", async () => pushed.length > 0);
    expect(begun).toContain("stream");
    request.send("4\r\nhalf\r\n0\r\n\r\n");
    await sleep(100);
    expect(pushed).toEqual([4]);
    drain();
    await answer;
    await request.answered(200);
    expect(pushed).toEqual([4, 4]);
  });
});

describe("the memory of a short upload", () => {
  let taken = 0;
  const add = (bytes: number) => {
    taken += bytes;
    return taken - bytes;
  };
  const small = setupSmallServer({ operations, bodyLimiter: new BodyLimiter(1000, { add }) });
  const isFree = () => waitFor("the room is free", async () => taken === 0);
  const half = async (name: string) => {
    const request = await begin(small.url, name, length(8));
    request.send("half");
    await waitFor("room is taken", async () => taken === 8);
    return request;
  };

  it("is held until the response, a failure or a disconnect", async () => {
    for (const [name, status] of [
      ["right", 200],
      ["wrong", 400],
    ] as const) {
      const request = await half(name);
      request.send("half");
      await request.answered(status);
      await isFree();
    }
    const request = await half("left");
    request.leave();
    await isFree();
  });

  it("is held while the handler runs, even if the client has left", async () => {
    for (const [name, leaves] of [
      ["at-work", false],
      ["at-work-alone", true],
    ] as const) {
      const work = wait.untilFinished();
      const request = await half(name);
      request.send("half");
      await begins(name);
      if (leaves) {
        request.leave();
        await waitFor("no request is in flight", async () => small.server.inFlight.size === 0);
      }
      expect(taken).toBe(8);
      wait.finish();
      await work;
      if (!leaves) await request.answered(200);
      await isFree();
    }
  });
});
