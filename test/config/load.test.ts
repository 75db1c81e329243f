import { writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { optionHelp } from "../../src/config/help.js";
import { loadConfig } from "../../src/config/load.js";
import { machineMemory } from "../../src/config/machine-memory.js";
import { ConfigError } from "../../src/config/option.js";
import { serverOptions } from "../../src/config/options.js";
import { isLoopback } from "../../src/foundation/loopback.js";
import { tempDir } from "../harness/temp.js";

const cwd = tempDir("config");
const load = (args: string[] = [], env: Record<string, string> = {}, dir = cwd) =>
  loadConfig(args, { env, cwd: dir });

function withFile(toml: string): string {
  const dir = tempDir("config");
  writeFileSync(join(dir, "joust.toml"), toml);
  return dir;
}

describe("the default configuration", () => {
  it("listens on loopback and requires keys", () => {
    expect(load()).toEqual({
      root: join(cwd, "joust-data"),
      host: "127.0.0.1",
      port: 2333,
      http: "auto",
      lancedbDatabases: "existing",
      auth: "keys",
      logLevel: "info",
      catalog: join(cwd, "joust-data", ".joust", "catalog.db"),
      firstKeyFile: join(cwd, "joust-data", ".joust", "admin-key"),
      allowedHosts: [],
      maxJsonBytes: 16 * 2 ** 20,
      maxUploadBytes: 0,
      followLinks: true,
      synced: true,
      memoryBytes: Math.floor(machineMemory() * 0.6),
      maintenance: { on: true, keepVersionsMs: 7 * 24 * 3_600_000, autoRefreshMs: 60_000 },
      storageOptions: {},
      drainTimeoutMs: 30_000,
      queryTimeoutMs: 300_000,
      requestTimeoutMs: 0,
      viewTimeoutMs: 3_600_000,
      viewDiskBytes: 10 * 2 ** 30,
      prewarm: [],
      httpThreads: 1,
    });
  });
});

describe("HTTPS", () => {
  it("requires a certificate and a key, as files relative to the working directory", () => {
    const { tls } = load(["--tls-cert", "a.crt", "--tls-key", "/b.key"]);
    expect(tls).toEqual({ certFile: join(cwd, "a.crt"), keyFile: "/b.key" });
  });

  it("rejects a certificate without a key and a key without a certificate", () => {
    expect(() => load(["--tls-cert", "a.crt"])).toThrow(
      new ConfigError("--tls-cert needs --tls-key too: HTTPS takes a certificate and its key"),
    );
    expect(() => load(["--tls-key", "a.key"])).toThrow(
      new ConfigError("--tls-key needs --tls-cert too: HTTPS takes a certificate and its key"),
    );
  });
});

describe("durability on Windows", () => {
  it("must be set to os", () => {
    const onWindows = (args: string[]) => loadConfig(args, { env: {}, cwd, platform: "win32" });
    expect(() => onWindows([])).toThrow("--durability must be os on Windows");
    expect(onWindows(["--durability", "os"]).synced).toBe(false);
  });
});

describe("the memory option", () => {
  it("is a size or a share of the machine's memory", () => {
    expect(load(["--memory", "2GiB"]).memoryBytes).toBe(2 ** 31);
    expect(load([], { JOUST_MEMORY: "512m" }).memoryBytes).toBe(2 ** 29);
    const half = load([], {}, withFile('memory = "50%"')).memoryBytes;
    expect(half).toBe(Math.floor(machineMemory() / 2));
    expect(machineMemory()).toBeLessThanOrEqual(totalmem());
  });
});

describe("option sources", () => {
  const dir = withFile('port = 1001\nhost = "127.0.0.3"\nlog-level = "error"\n');

  it("have the order flag, environment, file", () => {
    const env = { JOUST_PORT: "1002", JOUST_LOG_LEVEL: "warn" };
    const config = load(["--port", "1003"], env, dir);
    expect(config).toMatchObject({ port: 1003, logLevel: "warn", host: "127.0.0.3" });
    expect(load([], env, dir).port).toBe(1002);
    expect(load([], {}, dir).port).toBe(1001);
    expect(load([], { JOUST_PORT: "" }, dir).port).toBe(1001);
  });

  it("are merged key by key for storage options", () => {
    const toml = withFile('[storage-option]\nregion = "file"\nendpoint = "file"\ntimeout = 5\n');
    const config = load(
      ["--storage-option", "region=flag", "--storage-option=token=a=b"],
      { JOUST_STORAGE_OPTION: "region=env,endpoint=env" },
      toml,
    );
    expect(config.storageOptions).toEqual({
      region: "flag",
      endpoint: "env",
      timeout: "5",
      token: "a=b",
    });
  });

  it("are joined for tables to prewarm", () => {
    const toml = withFile('prewarm = ["a", "ns$b"]\n');
    const config = load(["--prewarm", "c"], { JOUST_PREWARM: "d,e" }, toml);
    expect(config.prewarm).toEqual([["a"], ["ns", "b"], ["d"], ["e"], ["c"]]);
  });

  it("include a named file that replaces joust.toml", () => {
    writeFileSync(join(dir, "other.toml"), "port = 1004\n");
    expect(load(["--config", "other.toml"], {}, dir).port).toBe(1004);
    expect(load([], { JOUST_CONFIG: "other.toml" }, dir).port).toBe(1004);
    expect(load([], { JOUST_CONFIG: "" }, dir).port).toBe(1001);
  });
});

describe("ROOT", () => {
  it("is a directory or a URI", () => {
    expect(load(["data"]).root).toBe(join(cwd, "data"));
    expect(load(["--root", "/var/data/"]).root).toBe("/var/data");
    expect(load(["file:///var/data"]).root).toBe("/var/data");
    expect(load([], { JOUST_ROOT: "s3://bucket/prefix/" }).root).toBe("s3://bucket/prefix");
  });

  it("is no URI whose path ends early", () => {
    for (const root of ["s3://bucket/a#b", "gs://bucket/a?b", "s3://bucket/#"]) {
      expect(() => load([root])).toThrow(
        `ROOT must have neither \`#\` nor \`?\` in a URI, got ${root}`,
      );
    }
    expect(load(["/var/a#b?c"]).root).toBe("/var/a#b?c");
  });

  it("contains the catalog if it is a directory", () => {
    expect(load(["/var/data"]).catalog).toBe("/var/data/.joust/catalog.db");
    expect(load(["s3://bucket"]).catalog).toBe(join(cwd, "joust-catalog.db"));
    expect(load(["s3://bucket", "--catalog", "c.db"]).catalog).toBe(join(cwd, "c.db"));
    expect(load(["--catalog", "postgres://u@h/db"]).catalog).toBe("postgres://u@h/db");
  });
});

describe("the admin key option", () => {
  const file = (content: string) => {
    const path = join(tempDir("config"), "key");
    writeFileSync(path, content);
    return path;
  };

  it("reads a file with or without a final line break", () => {
    for (const content of ["secret", "secret\n", "secret\r\n"]) {
      expect(load(["--api-key-file", file(content)]).apiKey).toBe("secret");
      expect(load([], { JOUST_API_KEY_FILE: file(content) }).apiKey).toBe("secret");
    }
  });

  it.each([
    ["", /on its only line/],
    ["\n", /on its only line/],
    ["one\ntwo\n", /on its only line/],
    ["a key", /on its only line/],
  ])("rejects a file with the content %j", (content, message) => {
    expect(() => load(["--api-key-file", file(content)])).toThrow(message);
  });

  it("has one source and requires a readable file", () => {
    const both = ["--api-key-file", file("secret")];
    expect(() => load(both, { JOUST_API_KEY: "other" })).toThrow(/both given/);
    expect(() => load(["--api-key-file", "nowhere"])).toThrow(/nowhere .*ENOENT/);
  });

  it("places a generated key beside the catalog", () => {
    expect(load(["/var/data"]).firstKeyFile).toBe("/var/data/.joust/admin-key");
    const remote = load(["s3://bucket", "--catalog", "/var/lib/names.db"]);
    expect(remote.firstKeyFile).toBe("/var/lib/joust-admin-key");
    const postgres = load(["s3://bucket", "--catalog", "postgres://u@h/db"]);
    expect(postgres.firstKeyFile).toBe(join(cwd, "joust-admin-key"));
  });
});

describe("the option for further hosts", () => {
  it("accepts names without scheme and port", () => {
    const given = ["--allowed-host", "Tables.example", "--allowed-host", "[fd00::1]"];
    expect(load(given).allowedHosts).toEqual(["Tables.example", "fd00::1"]);
    expect(load([], { JOUST_ALLOWED_HOST: "a,b" }).allowedHosts).toEqual(["a", "b"]);
    for (const wrong of ["http://a", "a:2333", "a/b", "*"]) {
      expect(() => load(["--allowed-host", wrong])).toThrow(/without scheme and port/);
    }
  });
});

describe("sizes and durations", () => {
  it.each([
    ["4096", 4096],
    ["1KiB", 1024],
    ["512MiB", 512 * 2 ** 20],
    ["1.5g", 1.5 * 2 ** 30],
    ["2 TB", 2 * 2 ** 40],
  ])("accept %s", (text, bytes) => {
    expect(load(["--max-upload-bytes", text]).maxUploadBytes).toBe(bytes);
  });

  it.each([
    ["250", 250],
    ["250ms", 250],
    ["1.5s", 1500],
    ["30 s", 30_000],
    ["5m", 300_000],
    ["36h", 129_600_000],
    ["7d", 604_800_000],
  ])("reject %s", (text, ms) => {
    expect(load(["--staleness", text]).stalenessMs).toBe(ms);
  });

  it.each(["1y", "2w", "-5s", "2 days", "1 minute", "1S", ".5s", "", "s"])(
    "%j is not a time",
    (text) => {
      expect(() => load([`--staleness=${text}`])).toThrow(
        `--staleness must be a time such as 500ms, 30s or 7d, got "${text}"`,
      );
    },
  );
});

describe("an invalid option", () => {
  it.each([
    [["--prot", "1"], "--prot is not an option: did you mean --port?"],
    [["-p", "1"], /^-p is not an option/],
    [["--port"], "--port needs a value"],
    [["--port", "99999"], '--port must be an integer from 0 to 65535, got "99999"'],
    [["--port", "1", "--port", "2"], "--port is given twice: give it once"],
    [["a", "b"], "ROOT is given twice: give it once"],
    [["--auth", "off"], '--auth must be one of keys, none, got "off"'],
    [
      ["--memory", "much"],
      '--memory must be a size such as 4GiB or a percentage such as 60%, got "much"',
    ],
    [["--memory", "101%"], '--memory must be at most 100%, got "101%"'],
    [["--memory", "64MiB"], '--memory must be at least 256MiB, got "64MiB"'],
    [
      ["--memory", "1GiB", "--index-cache", "500MiB", "--metadata-cache", "13MiB"],
      /^--index-cache, --metadata-cache and --row-cache together must be at most half of --memory/,
    ],
    [["--memory", "1GiB", "--row-cache", "513MiB"], /^--index-cache, .*at most half of --memory/],
    [["--index-cache", "lots"], '--index-cache must be a size such as 512MiB, got "lots"'],
    [
      ["--drain-timeout", "soon"],
      '--drain-timeout must be a time such as 500ms, 30s or 7d, got "soon"',
    ],
    [
      ["--storage-option", "region"],
      '--storage-option must be of the form key=value, got "region"',
    ],
    [
      ["--prewarm", "ns$"],
      '--prewarm must be a table\'s name, after its namespaces and `$` if it has any, got "ns$"',
    ],
    [["--http-threads", "0"], '--http-threads must be an integer from 1 to 64, got "0"'],
    [["--config", "none.toml"], "the configuration file none.toml cannot be read (ENOENT)"],
    [["--auth", "none", "--host", "0.0.0.0"], /^--auth none is for loopback addresses: 0\.0\.0\.0/],
  ])("in the arguments %j is named in the error", (args, message) => {
    expect(() => load(args)).toThrow(ConfigError);
    expect(() => load(args)).toThrow(message);
  });

  it("in the environment is named by its variable", () => {
    expect(() => load([], { JOUST_MAX_JSON_BYTES: "x" })).toThrow(/^JOUST_MAX_JSON_BYTES must be/);
  });

  it("in the file is named with the file", () => {
    expect(() => load([], {}, withFile("prot = 1"))).toThrow(
      "prot in joust.toml is not an option: did you mean port?",
    );
    expect(() => load([], {}, withFile('port = "x"'))).toThrow(/^port in joust.toml must be/);
    expect(() => load([], {}, withFile("[port]\na = 1"))).toThrow(
      "port in joust.toml must be a string or a number",
    );
    expect(() => load([], {}, withFile("\nport = = 1"))).toThrow(
      /^joust.toml is not TOML, line 2: /,
    );
  });
});

describe("isLoopback", () => {
  it("is true only for addresses that other hosts cannot reach", () => {
    for (const host of ["localhost", "127.0.0.1", "127.1.2.3", "::1"])
      expect(isLoopback(host)).toBe(true);
    for (const host of ["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example.org", "joust"]) {
      expect(isLoopback(host)).toBe(false);
    }
  });
});

describe("the option help", () => {
  it("names every option", () => {
    for (const name of Object.keys(serverOptions).filter((name) => name !== "root")) {
      expect(optionHelp()).toContain(`--${name} `);
    }
  });
});
