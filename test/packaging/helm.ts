import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAllDocuments, stringify } from "yaml";
import { findProgram, goDirectories } from "../harness/programs.js";

export const chart = fileURLToPath(new URL("../../packaging/helm/joust", import.meta.url));

const KUBERNETES = "1.34.0";
/** The package of PyPI with the JSON schemas of Kubernetes. */
const SCHEMAS = "kubernetes-validate==1.34.1";
const KINDS = [
  "service-v1",
  "serviceaccount-v1",
  "deployment-apps-v1",
  "statefulset-apps-v1",
  "poddisruptionbudget-policy-v1",
];

// biome-ignore lint/suspicious/noExplicitAny: rendered objects, whose shape kubeconform checks
export type KubernetesObject = any;

/** The path of a program that Go installs. @throws Error with the command that installs it */
export function goProgram(name: string, module: string): string {
  const program = findProgram(name, goDirectories());
  if (program) return program;
  throw new Error(`${name} is not installed: run go install ${module}@latest`);
}

const helm = (): string => goProgram("helm", "helm.sh/helm/v3/cmd/helm");

/** The output of `helm lint --strict`, and its exit code. */
export function lint(values: object): { status: number | null; output: string } {
  const args = ["lint", "--strict", "--kube-version", KUBERNETES, chart, "--values", "-"];
  const { status, stdout, stderr } = spawnSync(helm(), args, {
    input: stringify(values),
    encoding: "utf8",
  });
  return { status, output: stdout + stderr };
}

/** The manifest of a release `r` with these values. @throws Error with the message of Helm */
export function render(values: object): string {
  const args = ["template", "r", chart, "--kube-version", KUBERNETES, "--values", "-"];
  const { status, stdout, stderr } = spawnSync(helm(), args, {
    input: stringify(values),
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr.trim());
  return stdout;
}

/** The objects of a manifest by kind. The chart renders at most one object of each kind. */
export function objects(manifest: string): Record<string, KubernetesObject> {
  const byKind: Record<string, KubernetesObject> = {};
  for (const document of parseAllDocuments(manifest)) {
    const object = document.toJS();
    if (object === null) continue;
    if (byKind[object.kind]) throw new Error(`two objects of kind ${object.kind}`);
    byKind[object.kind] = object;
  }
  return byKind;
}

/** The result of kubeconform for a manifest and the schemas of Kubernetes. */
export function conform(manifest: string): { status: number | null; output: string } {
  const location = join(schemas(), "{{.ResourceKind}}{{.KindSuffix}}.json");
  const program = goProgram("kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform");
  // Kubernetes has no schema for it: see serviceMonitorFault.
  const args = ["-strict", "-summary", "-skip", "ServiceMonitor", "-schema-location", location];
  const { status, stdout, stderr } = spawnSync(program, args, {
    input: manifest,
    encoding: "utf8",
  });
  return { status, output: stdout + stderr };
}

/** The reason why the Prometheus operator would reject a ServiceMonitor; undefined if it would not. */
export async function serviceMonitorFault(object: KubernetesObject): Promise<string | undefined> {
  const name = "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor";
  const { ServiceMonitor } = await import(/* @vite-ignore */ name);
  try {
    new ServiceMonitor(object).validate();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** A directory with the schemas of the kinds in the chart, in the format of kubeconform. */
function schemas(): string {
  const folder = join(homedir(), ".cache", "joust", `kubernetes-schemas-${KUBERNETES}`);
  if (existsSync(folder)) return folder;
  const fresh = `${folder}.${process.pid}`;
  const packages = `${fresh}.packages`;
  mkdirSync(fresh, { recursive: true });
  const pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--root-user-action=ignore"];
  execFileSync("python3", [...pip, "--target", packages, SCHEMAS], { stdio: "inherit" });
  const source = join(
    packages,
    "kubernetes_validate",
    "kubernetes-json-schema",
    `v${KUBERNETES}-local-strict`,
  );
  for (const kind of ["_definitions", ...KINDS]) {
    // Makes references relative, and removes `$id`, which would resolve them to a host.
    const text = readFileSync(join(source, `${kind}.json`), "utf8");
    const { $id, ...schema } = JSON.parse(
      text.replaceAll("/api/_definitions.json", "_definitions.json"),
    );
    writeFileSync(join(fresh, `${kind}.json`), JSON.stringify(schema));
  }
  rmSync(packages, { recursive: true });
  renameSync(fresh, folder);
  return folder;
}
