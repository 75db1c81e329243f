/**
 * Loaded before a server (`node --import`), counts its calls into the engine by name: methods, getters,
 * functions and objects made. Answers the signal SIGUSR2 with the counts so far and the size of
 * JavaScript's heap, as JSON in the file that `JOUST_CROSSINGS` names.
 */
import { readdirSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const file = process.env.JOUST_CROSSINGS ?? "";
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

/** @param {string} name @param {any} made */
function countMade(name, made) {
  counts[`new ${name}`] = 0;
  const { prototype } = made;
  for (const [member, { value, get }] of Object.entries(
    Object.getOwnPropertyDescriptors(prototype),
  )) {
    if (member === "constructor") continue;
    const key = `${name}.${member}`;
    const replaced = get ? { get: counted(key, get) } : { value: counted(key, value) };
    Object.defineProperty(prototype, member, { configurable: true, ...replaced });
  }
  return new Proxy(made, {
    construct(target, args) {
      counts[`new ${name}`]++;
      return Reflect.construct(target, args);
    },
  });
}

// As the loader finds it; it takes what is in the module's exports when it comes.
const addon = readdirSync(folder).find((name) => name.endsWith(".node"));
if (addon === undefined) throw new Error("the engine is not built");
const exported = createRequire(import.meta.url)(join(folder, addon));
for (const [name, value] of Object.entries(exported)) {
  if (typeof value !== "function") continue;
  const isClass = /^[A-Z]/.test(name);
  exported[name] = isClass ? countMade(name, value) : counted(name, value);
}

process.on("SIGUSR2", () => {
  collect();
  const { heapUsed } = process.memoryUsage();
  // Whole when it is there.
  writeFileSync(`${file}.part`, JSON.stringify({ counts, heapUsed }));
  renameSync(`${file}.part`, file);
});
