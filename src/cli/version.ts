import { packageManifest } from "../foundation/package-files.js";

/** The output of `joust --version`: versions of joust, its engine and Lance, and the HTTP transport of this host. */
export async function versionText(): Promise<string> {
  return `joust ${packageManifest().version}\n${await engineLine()}\nHTTP ${await transportLine()}\n`;
}

async function engineLine(): Promise<string> {
  try {
    const { native } = await import("../engine/native.js");
    const { engine, lance, stores } = native.versions();
    return `engine ${engine}, lance ${lance}, stores: ${["local", ...stores].join(", ")}`;
  } catch (error) {
    return `engine: ${(error as Error).message}`;
  }
}

async function transportLine(): Promise<string> {
  const { transportOf } = await import("../http/transport/open.js");
  const { name, reason } = transportOf("auto");
  return `${name} (${reason})`;
}
