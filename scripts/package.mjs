/**
 * Makes what is published. `platform`: compiles the addon for this machine as `dist` and writes
 * native/npm/<platform>/, a package with nothing but the binary. `main`: lists the platform
 * packages in package.json, for the release only; a checkout has to work before they exist.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseTriple } from "@napi-rs/cli";
import { addonInputs, buildAddon } from "./build/addon.mjs";
import { addonPath, platform, root } from "./build/paths.mjs";

const manifestPath = join(root, "package.json");
const manifest = JSON.parse(readFileSync(manifestPath, "utf8"));
const platforms = manifest.napi.targets.map((triple) => parseTriple(triple));

const kinds = { platform: writePlatformPackage, main: listPlatformPackages };
const kind = kinds[process.argv[2]];
if (!kind) throw new Error(`give one of ${Object.keys(kinds).join(", ")}`);
await kind();

async function writePlatformPackage() {
  const target = platforms.find(({ platformArchABI }) => platformArchABI === platform);
  if (!target) throw new Error(`${platform} is none of the platforms in package.json`);
  await buildAddon({ profile: "dist" });

  const folder = join(root, "native", "npm", platform);
  const binary = basename(addonPath);
  mkdirSync(folder, { recursive: true });
  copyFileSync(addonPath, join(folder, binary));
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  const { version, license, engines } = manifest;
  const contents = {
    name: `${manifest.name}-${platform}`,
    version,
    description: `The engine of ${manifest.name}, compiled for ${platform}`,
    license,
    engines,
    main: binary,
    files: [binary],
    os: [target.platform],
    cpu: [target.arch],
    ...(target.abi === "gnu" && { libc: ["glibc"] }),
    // A checkout uses the binary only if it was made from the same sources.
    joust: { inputs: addonInputs() },
  };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(contents, null, 2)}\n`);
  console.log(folder);
}

function listPlatformPackages() {
  for (const { platformArchABI } of platforms) {
    manifest.optionalDependencies[`${manifest.name}-${platformArchABI}`] = manifest.version;
  }
  writeFileSync(manifestPath, `${JSON.stringify(manifest, null, 2)}\n`);
}
