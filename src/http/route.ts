import type { Call, Dialect, Operation, Reply, Translation } from "../api/operation.js";
import { type BodyCheck, bodyCheckOf } from "../api/validation/body-check.js";
import { ParamReader } from "../api/validation/params.js";
import { mergeObjects } from "../foundation/merge-objects.js";

/** A path of one dialect with its methods, operation, and validators. */
export interface Route {
  readonly operation: Operation;
  readonly dialect: Dialect;
  /** Undefined for the canonical form. */
  readonly translation: Translation | undefined;
  /** `/v1/{object}/{id}/verb`, with a trailing slash if the dialect has one. */
  readonly path: string;
  readonly methods: readonly ("GET" | "POST")[];
  readonly params: ParamReader;
  /** Validator of a JSON body; undefined for other kinds of body. */
  readonly body: BodyCheck | undefined;
}

/** All routes: the canonical form of each operation that has one, then the translated forms. */
export function routes(
  operations: readonly Operation[],
  translations: readonly Translation[],
): Route[] {
  const byId = new Map<string, Omit<Route, "dialect" | "translation" | "path" | "methods">>();
  for (const operation of operations) {
    byId.set(operation.id, {
      operation,
      params: new ParamReader(operation.params),
      body: bodyCheckOf(operation),
    });
  }
  const inAllDialects = [...byId.values()].filter((shared) => !shared.operation.dialect);
  const canonical = inAllDialects.map(
    (shared): Route => ({
      ...shared,
      dialect: "namespace",
      translation: undefined,
      path: shared.operation.path,
      methods: shared.operation.methods,
    }),
  );
  const translated = translations.map((translation): Route => {
    const shared = byId.get(translation.operation);
    if (!shared) throw new Error(`no operation ${translation.operation} to translate to`);
    return {
      ...shared,
      dialect: "lancedb",
      translation,
      path: translation.path ?? defaultPath(shared.operation),
      methods: translation.methods ?? shared.operation.methods,
    };
  });
  return [...canonical, ...translated];
}

/** The path of a translated operation that does not set one. */
const defaultPath = ({ dialect, path }: Operation): string => (dialect ? path : `${path}/`);

/** The reply of a handler in the form of the dialect. `call`: absent if the request had none. */
export function finalReply(
  { operation, translation }: Route,
  reply: Reply,
  call: Call<unknown, unknown> | undefined,
): Reply {
  const final =
    operation.status && reply.kind !== "arrow" && !reply.status
      ? mergeObjects(reply, { status: operation.status })
      : reply;
  return translation?.reply && call ? translation.reply(final, call) : final;
}
