import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import type { TlsFiles } from "../../src/http/transport/transport.js";

/** Creates a self-signed certificate and its key with openssl in a directory. */
export function newCertificate(dir: string, name: string): TlsFiles {
  const files = { certFile: join(dir, `${name}.crt`), keyFile: join(dir, `${name}.key`) };
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const out = ["-keyout", files.keyFile, "-out", files.certFile, "-days", "2"];
  execFileSync("openssl", ["req", "-x509", ...key, ...out, "-subj", `/CN=${name}`], {
    stdio: "ignore",
  });
  return files;
}

/** Overwrites a certificate and key with another pair. */
export function copyPair(from: TlsFiles, to: TlsFiles): void {
  copyFileSync(from.certFile, to.certFile);
  copyFileSync(from.keyFile, to.keyFile);
}
