import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Postgres, postgresMissing, startPostgres } from "../../harness/postgres.js";
import { type S3, s3Missing, startS3 } from "../../harness/s3.js";
import { type Server, startServer } from "../../harness/server.js";
import { createTenRows, keyed, newKey, REPLAYED, rowsAndSum, writes } from "./keyed-writes.js";

describe.skipIf(postgresMissing || s3Missing)(
  "with two servers on a bucket and a Postgres catalog",
  () => {
    let postgres: Postgres;
    let s3: S3;
    let servers: [Server, Server];

    beforeAll(async () => {
      [postgres, s3] = await Promise.all([startPostgres(), startS3()]);
      const [root, catalog] = [s3.createBucket(), postgres.createDatabase()];
      const options = { root, args: ["--catalog", catalog], env: { ...s3.env } };
      const first = await startServer(options);
      servers = [first, await startServer({ ...options, key: first.key })];
    });
    afterAll(async () => {
      await Promise.all(servers?.map((server) => server.stop()) ?? []);
      await Promise.all([postgres?.stop(), s3?.stop()]);
    });

    it.each(writes.map((write, index) => ({ ...write, table: `t${index}` })))(
      "a request takes effect once, whichever server receives it: $name",
      async ({ table, path, body, params, after }) => {
        const [first, second] = servers;
        const key = newKey();
        await createTenRows(first.client, table);
        const sent = Array.from({ length: 6 }, (_, index) =>
          keyed((servers[index % 2] as Server).client, key, path(table), body(), params),
        );
        const answers = await Promise.all(sent);
        expect(answers.map((answer) => [answer.status, answer.text])).toEqual(
          answers.map(() => [200, answers[0]?.text]),
        );
        const replayed = answers.filter((answer) => answer.headers.get(REPLAYED) === "true");
        expect(replayed).toHaveLength(5);
        const later = await keyed(second.client, key, path(table), body(), params);
        expect(later.headers.get(REPLAYED)).toBe("true");
        expect(await rowsAndSum(second.client, table)).toEqual(after);
        expect(await rowsAndSum(first.client, table)).toEqual(after);
      },
    );
  },
);
