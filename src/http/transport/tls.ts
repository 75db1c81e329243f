import { readFileSync, unwatchFile, watchFile } from "node:fs";
import { createSecureContext } from "node:tls";
import type { TlsFiles } from "./transport.js";

/** How often the files are looked at, ms. Polling also notices a symbolic link that leads elsewhere. */
const watchInterval = 2_000;

/** The certificate chain and the private key, PEM. */
export interface TlsPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/**
 * Reads both files.
 * @throws Error with one sentence when one cannot be read, is not PEM, or the key belongs to another certificate.
 */
export function readPair({ certFile, keyFile }: TlsFiles): TlsPair {
  const pair = { cert: read("--tls-cert", certFile), key: read("--tls-key", keyFile) };
  try {
    createSecureContext(pair);
  } catch (error) {
    throw new Error(`--tls-cert and --tls-key cannot be used: ${pairFault(error)}`);
  }
  return pair;
}

function read(option: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw new Error(`${option} ${file}: ${unreadable[code] ?? `it cannot be read (${code})`}`);
  }
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: "the file does not exist: give the path of a PEM file",
  EISDIR: "it is a directory: give the path of a PEM file",
  EACCES: "this user may not read the file: change its owner or mode",
};

function pairFault(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (/mismatch/i.test(message))
    return "the key belongs to another certificate: give the files of one pair";
  if (/no start line|PEM/i.test(message)) return "both files must be in PEM format";
  return message.replace(/^error:[^:]*:[^:]*:[^:]*:/, "");
}

/** Runs `changed` after one of the files has changed, until the returned function is called. */
export function watchPair(files: TlsFiles, changed: () => void): () => void {
  const paths = [files.certFile, files.keyFile];
  for (const path of paths) {
    watchFile(path, { interval: watchInterval, persistent: false }, (now, before) => {
      // A file that is away for a moment comes back as another change.
      if (now.mtimeMs > 0 && (now.mtimeMs !== before.mtimeMs || now.ino !== before.ino)) changed();
    });
  }
  return () => {
    for (const path of paths) unwatchFile(path);
  };
}
