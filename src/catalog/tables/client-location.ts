import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { isRemote } from "../../foundation/addresses.js";
import { invalidInput, type JoustError } from "../../foundation/errors.js";

/** Beginnings of names that the server and Lance tools keep for their own files in a root. */
const RESERVED = ["_joust", "__manifest", "."];
/** Lance encodes them on the way to some files of a table and not to others. */
const FORBIDDEN = /[^ -~]|[\\%?#~[\]]/;
/** Bytes of a component: what most file systems take, less what Lance adds to it while it writes. */
const MAX_COMPONENT = 200;
/** Bytes of a location below the root. */
const MAX_LENGTH = 800;

/**
 * A location that a client names, in the form the catalog keeps: an absolute path or URI below the
 * root. It may be given relative to the root, or in full as replies show it.
 *
 * @throws code 13 when it does not lie below the root
 */
export function clientLocation(root: string, given: string): string {
  const below = isRemote(root) ? belowRemote(root, given) : belowLocal(root, given);
  const parts = below.replace(/\/+$/, "").split("/");
  if (parts.some((part) => part === "" || part === "." || part === ".." || FORBIDDEN.test(part))) {
    throw outside();
  }
  if (below.length > MAX_LENGTH || parts.some((part) => part.length > MAX_COMPONENT)) {
    throw invalidInput(
      `location is too long: give at most ${MAX_COMPONENT} characters between slashes, ${MAX_LENGTH} in all`,
    );
  }
  if (RESERVED.some((name) => parts[0]?.startsWith(name))) {
    throw invalidInput("location is where the server keeps its own files: choose another");
  }
  const base = root.replace(/\/+$/, "");
  return isRemote(root) ? `${base}/${parts.join("/")}` : join(root, ...parts);
}

/** The places between the root and a location below it, the outermost first. */
export function placesAbove(root: string, location: string): string[] {
  const base = root.replace(/\/+$/, "");
  const parts = location.slice(base.length + 1).split("/");
  return parts.slice(1).map((_, at) => `${base}/${parts.slice(0, at + 1).join("/")}`);
}

function belowRemote(root: string, given: string): string {
  const base = `${root.replace(/\/+$/, "")}/`;
  if (given.startsWith(base)) return given.slice(base.length);
  if (given.includes("://") || given.startsWith("/")) throw outside();
  return given;
}

function belowLocal(root: string, given: string): string {
  if (given.split("/").includes("..")) throw outside();
  const path = given.startsWith("file:") ? pathOf(given) : given;
  if (path.includes("://")) throw outside();
  if (!path.startsWith("/")) return path;
  const below = relative(root, path);
  if (below === "" || below.split(sep)[0] === "..") throw outside();
  return below;
}

function pathOf(uri: string): string {
  try {
    return fileURLToPath(uri);
  } catch {
    throw outside();
  }
}

const outside = (): JoustError =>
  invalidInput("location must be a place below the server's root: give a path relative to it");
