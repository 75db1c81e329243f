import type { Dialect, Operation, Translation } from "../api/operation.js";
import { BodyCheck } from "../api/validation/body-check.js";
import { withCommonMembers } from "../api/validation/common-members.js";
import { ParamReader } from "../api/validation/params.js";

/** One method and path of one dialect, with everything about it worked out beforehand. */
export interface Route {
  readonly operation: Operation;
  readonly dialect: Dialect;
  /** Absent in the canonical form. */
  readonly translation: Translation | undefined;
  /** `/v1/table/{id}/describe`, with the slash at the end where the dialect has it. */
  readonly path: string;
  readonly methods: readonly ("GET" | "POST")[];
  readonly params: ParamReader;
  /** Validator of a JSON body; undefined for the other kinds. */
  readonly body: BodyCheck | undefined;
}

/** Every route: the canonical form of each operation that has one, then the translated ones. */
export function routes(
  operations: readonly Operation[],
  translations: readonly Translation[],
): Route[] {
  const byId = new Map<string, Omit<Route, "dialect" | "translation" | "path" | "methods">>();
  for (const operation of operations) {
    byId.set(operation.id, {
      operation,
      params: new ParamReader(operation.params),
      body:
        operation.body.kind === "json"
          ? new BodyCheck(withCommonMembers(operation.body.schema))
          : undefined,
    });
  }
  const everywhere = [...byId.values()].filter((known) => !known.operation.dialect);
  const canonical = everywhere.map(
    (known): Route => ({
      ...known,
      dialect: "namespace",
      translation: undefined,
      path: known.operation.path,
      methods: known.operation.methods,
    }),
  );
  const translated = translations.map((translation): Route => {
    const known = byId.get(translation.operation);
    if (!known) throw new Error(`no operation ${translation.operation} to translate to`);
    return {
      ...known,
      dialect: "lancedb",
      translation,
      path: translation.path ?? ownPath(known.operation),
      methods: translation.methods ?? known.operation.methods,
    };
  });
  return [...canonical, ...translated];
}

/** Where a dialect has an operation unless it says otherwise. */
const ownPath = ({ dialect, path }: Operation): string => (dialect ? path : `${path}/`);
