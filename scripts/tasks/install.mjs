import { existsSync, lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { platform } from "../build/paths.mjs";
import { tryDemo } from "../install/demo.mjs";
import { hidingFault, newHost } from "../install/host.mjs";
import { majors, nodeBinary } from "../install/node.mjs";
import {
  copyCheckout,
  listPlatforms,
  makeMainPackage,
  makePlatformPackage,
} from "../install/packages.mjs";
import { startRegistry } from "../install/registry.mjs";
import { noTests, printCounts } from "./counts.mjs";

const GOAL_SECONDS = 60;
const GOAL_MB = 300;
const COMPILE = "or compile joust from its sources with Rust";

/**
 * `npm run test:install [-- --quick]`: publishes joust to a registry on loopback, and installs it on hosts with
 * only Node. `--quick`: only with this version of Node and the newest one.
 */
export async function run(args) {
  const counts = { ...noTests, failures: [] };
  const check = checking(counts);
  const work = mkdtempSync(join(tmpdir(), "joust-install-"));
  const newest = majors.at(-1);
  const registry = await startRegistry(join(work, "registry"), nodeBinary(newest));
  try {
    const main = makeMainPackage(work);
    const host = hosts(work, registry);
    await withoutPackage({ main, registry, host, check });

    registry.publish(makePlatformPackage());
    await check(`Node ${process.versions.node}`, () => installed(host(process.execPath)));
    const fault = hidingFault();
    const hidden = fault === undefined;
    for (const major of args.includes("--quick") ? [newest] : majors) {
      const name = `Node ${major}${hidden ? ", with a hidden checkout" : ""}`;
      await check(name, () => installed(host(nodeBinary(major), { hidden })));
    }
    if (!hidden) skip(counts, "an installation with a hidden checkout", fault);
    await check("a checkout without Rust", () => publishedEngine(work, host(process.execPath)));
  } finally {
    registry.stop();
    rmSync(work, { recursive: true, force: true });
  }
  printCounts("install", counts);
  return counts.failed > 0 ? 1 : 0;
}

/** Runs checks, which throw an error if they fail, and counts the results. */
const checking = (counts) => async (name, work) => {
  try {
    console.log(`ok: ${name}: ${await work()}`);
    counts.passed += 1;
  } catch (error) {
    console.log(`failed: ${name}: ${error.message}`);
    counts.failed += 1;
    counts.failures.push(`${name}: ${error.message.split("\n", 1)[0]}`);
  }
};

function skip(counts, name, why) {
  console.log(`skipped: ${name}: ${why}`);
  counts.skipped += 1;
}

/** Makes new hosts, each in a separate folder. */
function hosts(work, { url }) {
  let made = 0;
  return (node, options) => {
    made += 1;
    return newHost(join(work, `host-${made}`), { node, registry: url, ...options });
  };
}

/** Installs joust and tests the demo; returns the duration and the installed size. */
async function installed(host) {
  const started = performance.now();
  await mustRun(host, "npm", "install", "joust");
  const links = filesBelow(host.modules).filter(({ path, stats }) => {
    return stats.isSymbolicLink() && !path.includes(`${join("node_modules", ".bin")}`);
  });
  if (links.length > 0) throw new Error(`${links[0].path} is a symbolic link`);
  const installedAfter = performance.now() - started;
  const transport = await mustRun(host, "npx", "joust", "--version");
  const answeredAt = await tryDemo(host);
  const seconds = (answeredAt - started) / 1000;
  const bytes = filesBelow(host.modules).reduce((sum, { stats }) => sum + stats.size, 0);
  return [
    `${seconds.toFixed(1)} s from install to first answer (goal: ${GOAL_SECONDS}), of which npm used ${(installedAfter / 1000).toFixed(1)} s`,
    `${Math.round(bytes / 1e6)} MB installed (goal: ${GOAL_MB})`,
    transport.trim().split("\n").at(-1),
  ].join("; ");
}

/** Tests hosts without a platform package: the commands print what to do, and create no files. */
async function withoutPackage({ main, registry, host, check }) {
  const others = ["linux-x64-gnu", "linux-arm64-gnu", "darwin-arm64"].filter(
    (name) => name !== platform,
  );
  const elsewhere = listPlatforms(main, others, "-elsewhere");
  registry.publish(main, "elsewhere");
  const version = listPlatforms(main, [platform, ...others]);
  registry.publish(main);

  await check("a platform without a package", async () => {
    const target = host(process.execPath);
    await mustRun(target, "npm", "install", `joust@${elsewhere}`);
    return refused(
      target,
      `joust has no package for ${platform}: use a host with one of ${others.join(", ")}`,
    );
  });
  await check("a package that npm left out", async () => {
    const target = host(process.execPath);
    await mustRun(target, "npm", "install", `joust@${version}`);
    return refused(
      target,
      `the package joust-${platform} with the engine is not installed: install joust again`,
    );
  });
}

/** Checks that `joust serve` and `joust demo` exit with 1, print one sentence with this beginning, and create no files. */
async function refused(host, beginning) {
  for (const command of [["serve", "data"], ["demo"]]) {
    const { code, out, err } = await host.run("npx", "joust", ...command);
    const message = `joust ${command[0]} ended with ${code} and printed: ${out}${err}`;
    if (code !== 1 || out !== "" || !/^joust: [^\n]+\n$/.test(err)) throw new Error(message);
    if (!err.startsWith(`joust: ${beginning}`) || !err.includes(COMPILE)) throw new Error(message);
  }
  if (existsSync(join(host.app, "data"))) throw new Error("the command created a data directory");
  return beginning;
}

/** Checks that `npm run demo` in a checkout on a host without Rust downloads the engine from the registry. */
async function publishedEngine(work, host) {
  const checkout = join(work, "checkout");
  copyCheckout(checkout);
  const out = await mustRun(host, "npm", "--prefix", checkout, "run", "demo", "--", "--once");
  if (
    !out.includes("downloading the engine from the package") ||
    !out.includes("5. Texts nearest")
  ) {
    throw new Error(`the demo printed: ${out}`);
  }
  return "the demo used the engine of the platform package";
}

/** Runs a program that must succeed; returns its output. */
async function mustRun(host, ...command) {
  const { code, out, err } = await host.run(...command);
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}: ${err}${out}`);
  return out + err;
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .map((path) => ({ path, stats: lstatSync(path) }))
    .filter(({ stats }) => !stats.isDirectory());
}
