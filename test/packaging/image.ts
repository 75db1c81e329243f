import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packPackages } from "../../scripts/build/application.mjs";
import { findProgram } from "../harness/programs.js";

const context = fileURLToPath(new URL("../../packaging/container", import.meta.url));
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
const NODE_MAJOR = 24;

/** The members of the image configuration that the tests use. */
export interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly WorkingDir: string;
  readonly Volumes: Readonly<Record<string, unknown>>;
  readonly StopSignal: string;
  readonly Healthcheck: { readonly Test: readonly string[] };
}

export interface Image {
  readonly config: ImageConfig;
  /** The files of a container of the image. */
  readonly files: string;
  /** For example `413 MB`. */
  readonly size: string;
  remove(): void;
}

/** The reason why this host cannot build an image; undefined if it can. */
export function imageFault(): string | undefined {
  if (process.getuid?.() !== 0) return "building an image without a daemon needs root";
  const missing = ["buildah", "mmdebstrap", "unshare", "chroot"].filter(
    (name) => !findProgram(name, ["/usr/sbin", "/sbin"]),
  );
  if (missing.length > 0)
    return `install ${missing.join(", ")} (apt-get install buildah mmdebstrap)`;
  return undefined;
}

/**
 * Builds packaging/container/Dockerfile from the packages of this checkout, without a daemon. Not every host can pull
 * the base images, so packages of Debian and npm replace them.
 */
export function buildImage(directory: string): Image {
  const fault = imageFault();
  if (fault) throw new Error(`the container test cannot run: ${fault}`);
  const store = ["--root", join(directory, "store"), "--runroot", join(directory, "run")];
  const buildah = (...args: readonly string[]): string =>
    execFileSync("buildah", [...store, "--storage-driver", "vfs", ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
      maxBuffer: 64 * 1024 * 1024,
    }).trim();

  const base = buildah("from", "scratch");
  buildah("add", "--quiet", base, debianFiles(), "/");
  buildah("commit", "--quiet", base, "localhost/base");
  addNode(buildah, base, join(directory, "node"));
  buildah("commit", "--quiet", "--rm", base, "localhost/node");

  const sources = join(directory, "context");
  cpSync(context, sources, { recursive: true });
  packPackages(join(sources, "packages"));
  const npmrc = join(directory, "npmrc");
  writeFileSync(npmrc, `cafile=${CERTIFICATES}\n`);
  // The OCI format has no HEALTHCHECK.
  const build = [
    "build",
    "--quiet",
    "--isolation",
    "chroot",
    "--format",
    "docker",
    "--layers=false",
  ];
  const bases = ["NODE=localhost/node", "BASE=localhost/base"];
  build.push(...bases.flatMap((value) => ["--build-arg", value]));
  build.push("--secret", `id=npmrc,src=${npmrc}`, "--volume", `${CERTIFICATES}:${CERTIFICATES}:ro`);
  buildah(...build, "--tag", "localhost/joust", sources);

  const container = buildah("from", "localhost/joust");
  const image = JSON.parse(buildah("inspect", "--type", "image", "localhost/joust"));
  const [{ size }] = JSON.parse(buildah("images", "--json", "localhost/joust"));
  return {
    config: image.Docker.config,
    files: buildah("mount", container),
    size,
    remove() {
      buildah("rm", "--all");
      buildah("rmi", "--all", "--force");
    },
  };
}

/** Debian 13 as a tar archive with the packages of debian:trixie-slim and the certificates. Made once. */
function debianFiles(): string {
  const archive = join(homedir(), ".cache", "joust", "trixie.tar");
  if (existsSync(archive)) return archive;
  mkdirSync(join(archive, ".."), { recursive: true });
  const fresh = `${archive.slice(0, -4)}.${process.pid}.tar`;
  const options = ["--variant=minbase", "--include=ca-certificates", "--quiet"];
  execFileSync("mmdebstrap", [...options, "trixie", fresh], { stdio: "inherit" });
  renameSync(fresh, archive);
  return archive;
}

/** Adds Node and npm at the paths of the official Node image. */
function addNode(buildah: (...args: string[]) => string, container: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), "{}");
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const packages = [`node-linux-${process.arch}@${NODE_MAJOR}`, "npm@11"];
  execFileSync("npm", ["install", ...quiet, ...packages], { cwd: folder, stdio: ["ignore", 2, 2] });
  const modules = join(folder, "node_modules");
  const bin = join(modules, `node-linux-${process.arch}`, "bin", "node");
  buildah("copy", "--quiet", container, bin, "/usr/local/bin/node");
  buildah("copy", "--quiet", container, join(modules, "npm"), "/usr/local/lib/node_modules/npm");
  const npm = "../lib/node_modules/npm/bin/npm-cli.js";
  const link = ["ln", "-s", npm, "/usr/local/bin/npm"];
  buildah("run", "--isolation", "chroot", container, "--", ...link);
  rmSync(folder, { recursive: true });
}
