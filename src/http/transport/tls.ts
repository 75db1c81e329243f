import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { FileWatch } from "../../foundation/file-watch.js";
import type { TlsFiles } from "./transport.js";

/** A certificate chain and its private key, PEM. */
export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/**
 * Reads both files.
 * @throws Error with one sentence if a file is unreadable or not PEM, or if the key belongs to another certificate
 */
export function readCertificate({ certFile, keyFile }: TlsFiles): Certificate {
  const pair = { cert: read("--tls-cert", certFile), key: read("--tls-key", keyFile) };
  try {
    createSecureContext(pair);
  } catch (error) {
    throw new Error(`--tls-cert and --tls-key cannot be used: ${certificateFault(error)}`);
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

function certificateFault(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (/mismatch/i.test(message))
    return "the key belongs to another certificate: give the files of one pair";
  if (/no start line|PEM/i.test(message)) return "both files must be in PEM format";
  return message.replace(/^error:[^:]*:[^:]*:[^:]*:/, "");
}

/** Create the watch before the first `readCertificate`: no change in between is lost. */
export const certificateWatch = ({ certFile, keyFile }: TlsFiles): FileWatch =>
  new FileWatch([certFile, keyFile]);
