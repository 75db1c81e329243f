import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A request that the server received. */
export interface AssumedRole {
  readonly role: string;
  readonly session: string;
  readonly seconds: number;
  readonly policy: Record<string, unknown>;
  /** The access key that signed the request. */
  readonly signer: string;
}

export interface StubSts {
  readonly url: string;
  readonly assumed: readonly AssumedRole[];
  /** Requests that it has refused. */
  readonly refused: number;
  /** From now on it refuses each request. */
  refuse(): void;
  close(): void;
}

/**
 * Stands for AWS STS: answers AssumeRole with the given keys, whatever the policy says. Only AWS has a real one.
 */
export async function startStubSts(keys: {
  readonly id: string;
  readonly secret: string;
  readonly token: string;
}): Promise<StubSts> {
  const assumed: AssumedRole[] = [];
  let refuses = false;
  let refused = 0;
  const server = createServer(async (request, response) => {
    const form = new URLSearchParams(await text(request));
    const [, signer = ""] = /Credential=([^/]+)\//.exec(request.headers.authorization ?? "") ?? [];
    if (refuses || form.get("Action") !== "AssumeRole") {
      refused++;
      response.writeHead(403, { "content-type": "text/xml" });
      response.end(
        "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not authorized to assume the role</Message></Error></ErrorResponse>",
      );
      return;
    }
    const seconds = Number(form.get("DurationSeconds"));
    assumed.push({
      role: form.get("RoleArn") ?? "",
      session: form.get("RoleSessionName") ?? "",
      seconds,
      policy: JSON.parse(form.get("Policy") ?? "{}"),
      signer,
    });
    const expires = new Date(Date.now() + seconds * 1_000).toISOString();
    response.writeHead(200, { "content-type": "text/xml" });
    response.end(
      `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>${keys.id}</AccessKeyId><SecretAccessKey>${keys.secret}</SecretAccessKey><SessionToken>${keys.token}</SessionToken><Expiration>${expires}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    assumed,
    get refused() {
      return refused;
    },
    refuse() {
      refuses = true;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
