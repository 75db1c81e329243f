/** The objects of LanceDB's authorization as text. A database is a namespace in the root. */
import { accessTo, type Requirement } from "../../api/access.js";
import type { NamespacePath } from "../../catalog/catalog.js";
import {
  namespaceObject,
  SERVER,
  type SecuredObject,
  tableObject,
} from "../../catalog/grants/grants.js";
import type { Privilege } from "../../catalog/grants/privileges.js";
import { checkNamespacePath, checkTableId } from "../../catalog/names.js";
import { ErrorCode, invalidInput, JoustError } from "../../foundation/errors.js";

/** LanceDB's name of the root namespace of a database. */
const ROOT = "public";
/** The names that SDKs accept in objects of the kinds that they know. */
const plainName = /^[A-Za-z0-9._-]{1,64}$/;

/** @throws code 13 for a text that names no object, code 0 for a kind that joust does not have */
export function parseObject(text: string): SecuredObject {
  const object = readObject(text);
  if (object.kind === "table") checkTableId(object.id);
  if (object.kind === "namespace") checkNamespacePath(object.path);
  return object;
}

function readObject(text: string): SecuredObject {
  if (text === "system") return SERVER;
  const [kind, database, path, ...more] = text.split(":");
  if (kind === "joust_namespace") return namespaceObject(jsonPath(text));
  if (kind === "joust_table") return tableObject(jsonPath(text));
  if (kind === "secret" || kind === "function") {
    throw new JoustError(
      ErrorCode.Unsupported,
      `this server has no ${kind}s: grant privileges on system, a database, a namespace, a table or a view`,
    );
  }
  if (!database || more.length > 0) throw notAnObject(text);
  if (kind === "database" && path === undefined) return namespaceObject([database]);
  if (!path) throw notAnObject(text);
  const components = path.split("$");
  if (kind === "namespace") return namespaceObject([database, ...belowRoot(components)]);
  const name = components.pop() as string;
  if ((kind === "table" || kind === "view") && components.length > 0) {
    return tableObject([database, ...belowRoot(components), name]);
  }
  throw notAnObject(text);
}

const belowRoot = (components: string[]): string[] =>
  components.length === 1 && components[0] === ROOT ? [] : components;

function jsonPath(text: string): string[] {
  try {
    const path: unknown = JSON.parse(text.slice(text.indexOf(":") + 1));
    if (Array.isArray(path) && path.every((name) => typeof name === "string")) return path;
  } catch {
    // Reported below.
  }
  throw notAnObject(text);
}

const notAnObject = (text: string): JoustError =>
  invalidInput(
    `object ${JSON.stringify(text.slice(0, 80))} is not valid: use system, database:DB, namespace:DB:a$b, table:DB:a$b$NAME or table:DB:public$NAME`,
  );

/** An object that LanceDB has no text for gets a kind that SDKs pass on: `joust_table:["t"]`. */
export function formatObject(object: SecuredObject): string {
  if (object.kind === "server") return "system";
  const path = object.kind === "table" ? object.id : object.path;
  const [database, ...rest] = path;
  const parent = object.kind === "table" ? rest.slice(0, -1) : rest;
  const isPlain =
    path.every((name) => plainName.test(name)) && !(parent.length === 1 && parent[0] === ROOT);
  if (object.kind === "table") {
    if (!isPlain || rest.length === 0) return `joust_table:${JSON.stringify(path)}`;
    return `table:${database}:${joinPath(parent)}$${rest.at(-1)}`;
  }
  if (!isPlain) return `joust_namespace:${JSON.stringify(path)}`;
  return rest.length === 0 ? `database:${database}` : `namespace:${database}:${joinPath(rest)}`;
}

const joinPath = (path: NamespacePath): string => (path.length === 0 ? ROOT : path.join("$"));

/** Access that needs `grant` on the object in the body, or on the server. */
export const grantAccess = () => ({
  ...accessTo("body"),
  sometimes: ["grant"] as const,
});

/** What a request needs on the object that it names. */
export const onObject = (
  text: string | undefined,
  ...privileges: Privilege[]
): readonly Requirement[] => [
  { object: text === undefined ? SERVER : parseObject(text), privileges },
];
