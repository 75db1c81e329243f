/**
 * Counts the calls of a server into the engine by name: methods, getters, functions and constructors. A server
 * loads it with `node --import`. At the signal SIGUSR2 it writes the counts and the size of the JavaScript heap
 * as JSON to the file that `JOUST_ENGINE_CALLS` names.
 */
import { readdirSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const file = process.env.JOUST_ENGINE_CALLS ?? "";
const folder = join(import.meta.dirname, "..", "..", "native");
/** @type {Record<string, number>} */
const counts = {};
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");

/** @param {string} name @param {Function} call @returns {any} */
function counted(name, call) {
  counts[name] = 0;
  return /** @this {any} */ function (...args) {
    counts[name]++;
    return call.apply(this, args);
  };
}

/** @param {string} name @param {any} original */
function countClass(name, original) {
  counts[`new ${name}`] = 0;
  const { prototype } = original;
  for (const [member, { value, get }] of Object.entries(
    Object.getOwnPropertyDescriptors(prototype),
  )) {
    if (member === "constructor") continue;
    const key = `${name}.${member}`;
    const replaced = get ? { get: counted(key, get) } : { value: counted(key, value) };
    Object.defineProperty(prototype, member, { configurable: true, ...replaced });
  }
  return new Proxy(original, {
    construct(target, args) {
      counts[`new ${name}`]++;
      return Reflect.construct(target, args);
    },
  });
}

// Replaces the exports of the addon before native/index.js reads them.
const addon = readdirSync(folder).find((name) => name.endsWith(".node"));
if (addon === undefined) throw new Error("the engine is not built");
const exported = createRequire(import.meta.url)(join(folder, addon));
for (const [name, value] of Object.entries(exported)) {
  if (typeof value !== "function") continue;
  const isClass = /^[A-Z]/.test(name);
  exported[name] = isClass ? countClass(name, value) : counted(name, value);
}

process.on("SIGUSR2", () => {
  collect();
  const { heapUsed } = process.memoryUsage();
  // A rename, so that a reader never sees a partial file.
  writeFileSync(`${file}.part`, JSON.stringify({ counts, heapUsed }));
  renameSync(`${file}.part`, file);
});
