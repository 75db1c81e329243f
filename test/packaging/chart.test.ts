import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadConfig } from "../../src/config/load.js";
import { removeDir, tempDir } from "../harness/temp.js";
import {
  chart,
  conform,
  type KubernetesObject,
  lint,
  objects,
  render,
  serviceMonitorFault,
} from "./helm.js";

const cluster = {
  replicas: 3,
  image: { repository: "registry.example/joust", tag: "0.1.0-test" },
  storage: {
    uri: "s3://tables/prod",
    options: {
      aws_region: "eu-central-1",
      aws_endpoint: "http://s3.example:9000",
      aws_role_session_name: 20250101,
    },
    credentialsSecret: "s3-access",
  },
  catalog: { postgres: { existingSecret: "catalog", key: "uri" } },
  auth: { existingSecret: "joust-admin", key: "admin" },
  tls: { existingSecret: "joust-tls" },
  options: { memory: 4294967296, "keep-versions": "36h", prewarm: ["films", "demo$books"] },
  extraEnv: [{ name: "JOUST_STALENESS", value: "2s" }],
  resources: { requests: { cpu: "2", memory: "8Gi" }, limits: { memory: "8Gi" } },
  preStopSeconds: 7,
  drainSeconds: 90,
  serviceMonitor: { enabled: true, labels: { release: "prometheus" }, keySecret: { name: "read" } },
  serviceAccount: { annotations: { "eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/joust" } },
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "ScheduleAnyway" },
  ],
};

/** One server on a bucket, with a SQLite catalog on an existing claim. */
const bucket = {
  storage: { uri: "gs://tables", volume: { existingClaim: "joust-catalog" } },
  auth: { existingSecret: "joust-admin" },
};

const bare = { podDisruptionBudget: { enabled: false }, serviceAccount: { create: false } };

const sets: Record<string, object> = { defaults: {}, cluster, bucket, bare };

const podOf = (rendered: Record<string, KubernetesObject>): KubernetesObject =>
  (rendered.Deployment ?? rendered.StatefulSet).spec.template;
const containerOf = (rendered: Record<string, KubernetesObject>): KubernetesObject =>
  podOf(rendered).spec.containers[0];

describe.each(Object.entries(sets))("the chart with the values %s", (_, values) => {
  const rendered = objects(render(values));

  it("passes helm lint", () => {
    const { status, output } = lint(values);
    expect(output).not.toMatch(/\[(WARNING|ERROR)\]/);
    expect(status).toBe(0);
  });

  it("conforms to the schemas of Kubernetes", async () => {
    const { status, output } = conform(render(values));
    expect(output).toMatch(/Invalid: 0, Errors: 0/);
    expect(status).toBe(0);
    if (rendered.ServiceMonitor) {
      expect(await serviceMonitorFault(rendered.ServiceMonitor)).toBeUndefined();
    }
  });

  it("runs as an unprivileged user on a read-only root file system", () => {
    expect(podOf(rendered).spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 65532,
      fsGroup: 65532,
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(containerOf(rendered).securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(containerOf(rendered).volumeMounts).toContainEqual({ name: "tmp", mountPath: "/tmp" });
  });

  it("prevents Kubernetes from setting JOUST_PORT", () => {
    expect(podOf(rendered).spec.enableServiceLinks).toBe(false);
  });

  it("gives a stopping pod enough time to drain", () => {
    const { terminationGracePeriodSeconds: grace } = podOf(rendered).spec;
    const { command } = containerOf(rendered).lifecycle.preStop.exec;
    const drain = containerOf(rendered)
      .args.map((arg: string) => /^--drain-timeout=(\d+)s$/.exec(arg)?.[1])
      .find(Boolean);
    expect(grace).toBeGreaterThan(Number(command[1]) + Number(drain));
  });

  it("uses the same pod labels in all selectors", () => {
    const { labels } = podOf(rendered).metadata;
    const selectors = [
      rendered.Service.spec.selector,
      (rendered.Deployment ?? rendered.StatefulSet).spec.selector.matchLabels,
      rendered.PodDisruptionBudget?.spec.selector.matchLabels,
    ];
    for (const selector of selectors.filter(Boolean)) expect(labels).toMatchObject(selector);
    expect(rendered.Service.spec.ports[0].targetPort).toBe(containerOf(rendered).ports[0].name);
  });
});

describe("the objects", () => {
  it("store tables on a claim of a StatefulSet by default", () => {
    const rendered = objects(render({}));
    expect(Object.keys(rendered).sort()).toEqual([
      "PodDisruptionBudget",
      "Service",
      "ServiceAccount",
      "StatefulSet",
    ]);
    const { spec } = rendered.StatefulSet;
    expect(spec.replicas).toBe(1);
    expect(spec.volumeClaimTemplates[0].metadata.name).toBe("data");
    expect(spec.volumeClaimTemplates[0].spec.resources.requests.storage).toBe("20Gi");
    const { args, volumeMounts, startupProbe, readinessProbe, livenessProbe } =
      containerOf(rendered);
    expect(args.slice(0, 2)).toEqual(["serve", "/data"]);
    expect(volumeMounts).toContainEqual({ name: "data", mountPath: "/data" });
    expect(readinessProbe.httpGet).toEqual({ path: "/readyz", port: "http", scheme: "HTTP" });
    for (const probe of [startupProbe, livenessProbe]) expect(probe.httpGet.path).toBe("/healthz");
    expect(rendered.PodDisruptionBudget.spec.maxUnavailable).toBe(1);
  });

  it("share a bucket and a Postgres catalog as a Deployment, with keys from secrets", () => {
    const rendered = objects(render(cluster));
    expect(rendered.StatefulSet).toBeUndefined();
    expect(rendered.Deployment.spec.replicas).toBe(3);
    const pod = podOf(rendered).spec;
    const container = containerOf(rendered);
    expect(container.image).toBe("registry.example/joust:0.1.0-test");
    expect(container.env).toEqual([
      {
        name: "JOUST_CATALOG",
        valueFrom: { secretKeyRef: { name: "catalog", key: "uri" } },
      },
      { name: "JOUST_STALENESS", value: "2s" },
    ]);
    expect(container.envFrom).toEqual([{ secretRef: { name: "s3-access" } }]);
    expect(pod.volumes).toContainEqual({
      name: "auth",
      secret: { secretName: "joust-admin", items: [{ key: "admin", path: "admin-key" }] },
    });
    expect(pod.volumes.map(({ name }: { name: string }) => name)).not.toContain("data");
    expect(container.readinessProbe.httpGet.scheme).toBe("HTTPS");
    expect(container.resources).toEqual(cluster.resources);
    expect(rendered.ServiceMonitor.metadata.labels.release).toBe("prometheus");
    expect(rendered.ServiceMonitor.spec.endpoints[0]).toMatchObject({
      port: "http",
      path: "/metrics",
      scheme: "https",
      authorization: { credentials: { name: "read", key: "read-key" } },
    });
    expect(rendered.ServiceAccount.metadata.annotations).toEqual(
      cluster.serviceAccount.annotations,
    );
    expect(pod.topologySpreadConstraints).toHaveLength(1);
  });

  it("store the SQLite catalog of a bucket on a volume", () => {
    const rendered = objects(render(bucket));
    expect(containerOf(rendered).args).toContain("--catalog=/data/catalog.db");
    expect(rendered.StatefulSet.spec.volumeClaimTemplates).toBeUndefined();
    expect(podOf(rendered).spec.volumes).toContainEqual({
      name: "data",
      persistentVolumeClaim: { claimName: "joust-catalog" },
    });
  });

  it("exclude disabled features", () => {
    expect(Object.keys(objects(render(bare))).sort()).toEqual(["Service", "StatefulSet"]);
  });
});

describe("the arguments", () => {
  const directory = tempDir("chart");
  afterAll(() => removeDir(directory));

  it.each(Object.keys(sets))("of the values %s are accepted by joust", (name) => {
    const file = join(directory, "admin-key");
    writeFileSync(file, "an-admin-key\n");
    const args: string[] = containerOf(objects(render(sets[name] as object))).args.map(
      (arg: string) => arg.replace("/etc/joust/auth/admin-key", file),
    );
    const config = loadConfig(args.slice(1), { env: {}, cwd: directory });
    expect(config.host).toBe("0.0.0.0");
    expect(config.port).toBe(2333);
    if (name !== "cluster") return;
    expect(config).toMatchObject({
      root: "s3://tables/prod",
      apiKey: "an-admin-key",
      memoryBytes: 4294967296,
      prewarm: [["films"], ["demo", "books"]],
      drainTimeoutMs: 90_000,
      storageOptions: {
        aws_region: "eu-central-1",
        aws_endpoint: "http://s3.example:9000",
        aws_role_session_name: "20250101",
      },
      tls: { certFile: "/etc/joust/tls/tls.crt", keyFile: "/etc/joust/tls/tls.key" },
    });
  });
});

describe("invalid values", () => {
  it.each([
    ["several servers on one volume", { replicas: 2 }, /replicas must be 1 unless/],
    [
      "several servers on a bucket without Postgres",
      { ...bucket, replicas: 2 },
      /replicas must be 1 unless/,
    ],
    ["a bucket without an admin key", { storage: { uri: "s3://b" } }, /auth\.existingSecret must/],
    [
      "a ServiceMonitor without a key",
      { serviceMonitor: { enabled: true } },
      /keySecret\.name must name/,
    ],
    ["an unknown value", { replica: 2 }, /replica/],
    ["an unknown option", { options: { memroy: "1GiB" } }, /memroy/],
    ["an option that the chart sets", { options: { port: 80 } }, /port/],
    ["a local path as the URI", { storage: { uri: "/srv/tables" } }, /uri/],
  ])("are refused: %s", (_, values, message) => {
    expect(() => render(values)).toThrow(message);
  });
});

describe("the checks", () => {
  it("reject an object that Kubernetes would reject", () => {
    const manifest = render({}).replace("targetPort: http", "targetPort: [http]");
    expect(conform(manifest).output).toMatch(/targetPort/);
  });

  it("reject a ServiceMonitor that the operator would reject", async () => {
    const { ServiceMonitor } = objects(render(cluster));
    ServiceMonitor.spec.endpoints[0].interval = "30";
    expect(await serviceMonitorFault(ServiceMonitor)).toMatch(/interval/);
  });
});

it("gives the chart the version of joust", () => {
  const { version, appVersion } = parse(readFileSync(join(chart, "Chart.yaml"), "utf8"));
  const manifest = new URL("../../package.json", import.meta.url);
  const expected = JSON.parse(readFileSync(manifest, "utf8")).version;
  expect({ version, appVersion }).toEqual({ version: expected, appVersion: expected });
});
