import { join } from "node:path";
import { cargo } from "../../build/cargo.mjs";
import { root, targetDir } from "../../build/paths.mjs";
import { cargoCounts, withExitCode } from "../counts.mjs";
import { withServer } from "./server.mjs";

/**
 * Tests LanceDB's SDK for Rust. It compiles a whole LanceDB, so `npm run test:clients` runs it only when it is named, and
 * CI does not.
 */
export async function rustClients() {
  const manifest = join(root, "test", "clients", "rust", "Cargo.toml");
  const args = ["test", "--locked", "--no-fail-fast", "--manifest-path", manifest];
  // A directory of its own: this is another workspace, with another profile.
  const directory = { CARGO_TARGET_DIR: join(targetDir, "rust-client") };
  return withServer(async (environment) => {
    let output = "";
    const code = await cargo(args, {
      env: { ...directory, ...environment },
      stdio: ["ignore", "pipe", "inherit"],
      onOutput(chunk) {
        output += chunk;
        process.stdout.write(chunk);
      },
    });
    return { Rust: withExitCode(cargoCounts(output), code) };
  });
}
