import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Upload } from "../../src/engine/index.js";
import { invalidInput } from "../../src/errors.js";
import { eventually } from "../harness/eventually.js";
import { head } from "../harness/socket.js";
import { plain, useSmallServer } from "./small-server.js";

const begun: string[] = [];
/** What the handler waits for before it answers. */
let read: Promise<void> | undefined;
const operations = [
  plain({ id: "Take", path: "/take/{id}", body: { kind: "arrow" } }, ({ id }) => {
    begun.push(id.join());
    if (id[0] === "wrong") throw invalidInput("that is wrong");
    const reply = { kind: "json", value: {} } as const;
    return read ? read.then(() => reply) : reply;
  }),
];

/** Sends the head and a part of the body; the rest when it is asked for. */
async function begin(url: string, name: string, headers: readonly string[]) {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  await once(socket, "connect");
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  socket.write(head(`POST /take/${name} HTTP/1.1`, "Host: x", ...headers));
  return {
    async send(part: string): Promise<void> {
      socket.write(part);
      await sleep(100);
    },
    leave: () => socket.destroy(),
    async answered(status: number): Promise<void> {
      await eventually("the answer", async () => answer.includes("\r\n\r\n"));
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      socket.destroy();
    },
  };
}

const length = (bytes: number) => [`Content-Length: ${bytes}`];

describe("the handler of an upload", () => {
  const small = useSmallServer({ operations, config: { maxUploadBytes: 100_000 } });

  it("begins when all of a short one is here", async () => {
    const request = await begin(small.url, "short", length(8));
    await request.send("half");
    expect(begun).not.toContain("short");
    await request.send("half");
    expect(begun).toContain("short");
    await request.answered(200);
  });

  it("begins at once when it is long, or may be", async () => {
    for (const [name, headers] of [
      ["long", length(64 * 1024 + 1)],
      ["unknown", ["Transfer-Encoding: chunked"]],
    ] as const) {
      const request = await begin(small.url, name, headers);
      await request.send("");
      expect(begun).toContain(name);
      request.leave();
    }
  });

  it("may fail at once", async () => {
    const request = await begin(small.url, "wrong", length(4));
    await request.send("all.");
    await request.answered(400);
  });

  it("never begins when the client leaves before all is here", async () => {
    const request = await begin(small.url, "gone", length(8));
    await request.send("half");
    request.leave();
    await eventually("no request is in flight", async () => small.server.inFlight.size === 0);
    expect(begun).not.toContain("gone");
  });
});

describe("the handler of an upload that is too large however short", () => {
  const small = useSmallServer({ operations, config: { maxUploadBytes: 6 } });

  it("never begins", async () => {
    const request = await begin(small.url, "large", length(8));
    await request.send("half");
    await request.send("half");
    await request.answered(413);
    expect(begun).not.toContain("large");
  });
});

describe("the handler of an upload from somebody who is looked up", () => {
  let tell = (_: { id: string; name: string; role: "write" }) => {};
  const authenticator = {
    identify: () =>
      new Promise<{ id: string; name: string; role: "write" }>((resolve) => {
        tell = resolve;
      }),
  };
  const small = useSmallServer({ operations, authenticator });

  it("begins when both are here, whichever is last", async () => {
    for (const name of ["known last", "whole last"]) {
      const path = encodeURIComponent(name);
      const request = await begin(small.url, path, length(4));
      await request.send("");
      const parts = [
        () => tell({ id: "1", name: "somebody", role: "write" }),
        () => request.send("all."),
      ];
      if (name === "known last") parts.reverse();
      await parts[0]?.();
      await sleep(50);
      expect(begun).not.toContain(name);
      await parts[1]?.();
      await request.answered(200);
      expect(begun.filter((own) => own === name)).toHaveLength(1);
    }
  });
});

describe("the handler of an upload that its queue has no room for", () => {
  const pushed: number[] = [];
  let drain = () => {};
  let finish = () => {};
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
      finish: () => finish(),
      abort() {},
      discard() {},
    }) as unknown as Upload;
  const small = useSmallServer({ operations, openUpload });

  it("begins with what is here, to read it, and is given the rest", async () => {
    read = new Promise((resolve) => {
      finish = resolve;
    });
    const request = await begin(small.url, "full", length(8));
    await request.send("half");
    expect(begun).toContain("full");
    await request.send("half");
    expect(pushed).toEqual([4]);
    drain();
    await request.answered(200);
    expect(pushed).toEqual([4, 4]);
    expect(begun.filter((name) => name === "full")).toHaveLength(1);
    read = undefined;
  });
});
