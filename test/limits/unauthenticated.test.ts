import { describe, expect, it } from "vitest";
import type { Answer } from "../harness/client.js";
import { setupServer } from "../harness/setup-server.js";
import { exchangeRaw, head, sendRaw } from "../harness/socket.js";
import { countStatuses, expectRefusal, setupLimitedServer, variants } from "./limited-server.js";

describe("requests without a key to a server without --limits", () => {
  const joust = setupServer();

  it("have a budget that a person does not notice", async () => {
    const anyone = joust.client.withKey("");
    const list = () => anyone.post("/v1/namespace/$/list");
    const answers = await Promise.all(Array.from({ length: 200 }, list));
    expect(countStatuses(answers)).toEqual({ 401: 200 });
    const served = await Promise.all(
      Array.from({ length: 100 }, () => joust.client.post("/v1/namespace/$/list")),
    );
    expect(countStatuses(served)).toEqual({ 200: 100 });
  });
});

const budget = (total: number, perAddress: number, proxies: string[] = []) => ({
  unauthenticated: {
    requests_per_second: 1e-4,
    burst: total,
    per_address: { requests_per_second: 1e-4, burst: perAddress },
    trusted_proxies: proxies,
  },
});

describe.each(variants)(
  "requests without a key, --http %s and --http-threads %s",
  (http, threads) => {
    const limited = setupLimitedServer(http, threads);
    const repeat = (count: number, send: (n: number) => Promise<Answer>) =>
      Promise.all(Array.from({ length: count }, (_, n) => send(n)));

    it("have a budget, and a flood of them does not affect a caller with a key", async () => {
      await limited.setLimits(budget(1_000, 5));
      const forged = limited.client.withKey(`joust_${"x".repeat(43)}`);
      const [floods, served] = await Promise.all([
        repeat(300, (n) =>
          (n % 2 === 0 ? forged : limited.client.withKey("")).post("/v1/namespace/$/list"),
        ),
        repeat(100, () => limited.reader.post("/v1/namespace/$/list")),
      ]);
      expect(countStatuses(floods)).toEqual({ 401: 5, 429: 295 });
      expect(countStatuses(served)).toEqual({ 200: 100 });
      const refused = floods.find(({ status }) => status === 429) as Answer;
      expectRefusal(refused, "requests_per_second", /no valid API key, and this address exceeds/);
      const metric =
        'joust_limit_refused_total{scope="unauthenticated",limit="requests_per_second"}';
      expect(await limited.metric(metric)).toBeGreaterThanOrEqual(295);
      expect((await limited.reader.post("/v1/namespace/$/list")).status).toBe(200);
    });

    it("include pages and unknown paths, and exclude the health probes", async () => {
      const anyone = limited.client.withKey("");
      expect((await anyone.get("/openapi.json")).status).toBe(429);
      expect((await anyone.get("/v1/nowhere")).status).toBe(429);
      for (const path of ["/healthz", "/readyz"]) expect((await anyone.get(path)).status).toBe(200);
    });

    it("are limited by the address that a trusted proxy names, and in total", async () => {
      // The requests of the first test still count: 5 of 17.
      await limited.setLimits(budget(17, 2, ["127.0.0.0/8"]));
      const from = (address: string) =>
        limited.client
          .withKey("")
          .request("/v1/namespace/$/list", { headers: { "x-forwarded-for": address } });
      const one = await repeat(10, () => from("198.51.100.1, 203.0.113.1"));
      expect(countStatuses(one)).toEqual({ 401: 2, 429: 8 });
      const many = await repeat(30, (n) => from(`203.0.113.${10 + n}`));
      expect(countStatuses(many)).toEqual({ 401: 10, 429: 20 });
      const refused = many.find(({ status }) => status === 429) as Answer;
      expectRefusal(refused, "requests_per_second", /all addresses together exceed/);
    });

    it("are limited by the client that repeated lines of x-forwarded-for name", async () => {
      await limited.setLimits(budget(1_000, 1, ["127.0.0.0/8"]));
      // HAProxy appends a line to those of the request: the last line alone names a proxy.
      const from = async (client: string) => {
        const request = head(
          "POST /v1/namespace/$/list HTTP/1.1",
          "Host: x",
          `X-Forwarded-For: 198.51.100.1, ${client}`,
          "X-Forwarded-For: 127.0.0.2",
          "X-Forwarded-For: 127.0.0.3",
          "Content-Length: 0",
          "Connection: close",
        );
        return (await sendRaw(limited.server.url, [request]))?.status;
      };
      const statuses = [];
      for (const client of ["203.0.113.101", "203.0.113.102", "203.0.113.102"]) {
        statuses.push(await from(client));
      }
      expect(statuses).toEqual([401, 401, 429]);
    });

    it("may not send a long body beyond the budget, and the server closes the connection", async () => {
      const request = (length: number) =>
        head(
          "POST /v1/table/t/insert HTTP/1.1",
          "Host: x",
          "X-Forwarded-For: 203.0.113.1",
          "Content-Type: application/vnd.apache.arrow.stream",
          `Content-Length: ${length}`,
        );
      const { text, closed } = await exchangeRaw(limited.server.url, [request(50_000_000)], 5_000);
      expect([text.split("\r\n")[0], closed]).toEqual(["HTTP/1.1 429 Too Many Requests", true]);
      // The key of this request would be in its body, which the server does not buffer beyond the budget.
      const json = await limited.client.withKey("").request("/v1/namespace/$/list", {
        body: { identity: { api_key: "none" } },
        headers: { "x-forwarded-for": "203.0.113.1" },
      });
      expect(json.status).toBe(429);
    });
  },
);
