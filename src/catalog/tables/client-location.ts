import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { isRemote } from "../../foundation/addresses.js";
import { invalidInput, type JoustError } from "../../foundation/errors.js";

/** Prefixes that joust and Lance tools reserve for their files in a root. */
const RESERVED = ["_joust", "__manifest", "."];
/** Lance encodes these characters in the paths of some files and not of others. */
const FORBIDDEN = /[^ -~]|[\\%?#~[\]]/;
/** Bytes of a path component: the limit of most file systems without the suffixes of temporary files. */
const MAX_COMPONENT = 200;
/** Bytes of a location below the root. */
const MAX_LENGTH = 800;

/**
 * Converts the location of a request into an absolute path or URI. It may be relative to the root, or absolute as in
 * replies.
 *
 * @throws code 13 when it is not below the root
 */
export function clientLocation(root: string, location: string): string {
  const below = isRemote(root) ? belowRemote(root, location) : belowLocal(root, location);
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
    throw invalidInput("location is reserved for files of the server: choose another");
  }
  const base = root.replace(/\/+$/, "");
  return isRemote(root) ? `${base}/${parts.join("/")}` : join(root, ...parts);
}

/** Returns the directories between the root and a location, the outermost first. */
export function parentLocations(root: string, location: string): string[] {
  const base = root.replace(/\/+$/, "");
  const parts = location.slice(base.length + 1).split("/");
  return parts.slice(1).map((_, at) => `${base}/${parts.slice(0, at + 1).join("/")}`);
}

function belowRemote(root: string, location: string): string {
  const base = `${root.replace(/\/+$/, "")}/`;
  if (location.startsWith(base)) return location.slice(base.length);
  if (location.includes("://") || location.startsWith("/")) throw outside();
  return location;
}

function belowLocal(root: string, location: string): string {
  if (location.split("/").includes("..")) throw outside();
  const path = location.startsWith("file:") ? pathOf(location) : location;
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
  invalidInput("location must be below the server's root: give a path relative to it");
