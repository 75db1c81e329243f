import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.js";
import { tempDir } from "../harness/temp.js";

const cwd = tempDir("config");
const load = (...args: string[]) => loadConfig(args, { env: {}, cwd });

const issuer = ["--oidc-issuer", "https://login.example"];
const provider = [...issuer, "--oidc-audience", "joust"];

describe("the identity provider", () => {
  it("is off by default", () => {
    expect(load().oidc).toBeUndefined();
  });

  it("has defaults for all but the issuer and the audience", () => {
    expect(load(...provider).oidc).toEqual({
      issuer: "https://login.example",
      audiences: ["joust"],
      groupsClaim: "groups",
      roles: [],
      clockSkewMs: 30_000,
    });
  });

  it("takes every option", () => {
    const options = [
      ...["--oidc-audience", "other", "--oidc-jwks", "http://127.0.0.1:1/keys"],
      ...["--oidc-groups-claim", "a.b", "--oidc-name-claim", "login"],
      ...["--oidc-roles", "cn=ops,dc=x=admin,staff=read", "--oidc-clock-skew", "5s"],
    ];
    expect(load(...provider, ...options).oidc).toEqual({
      issuer: "https://login.example",
      audiences: ["joust", "other"],
      jwksUrl: "http://127.0.0.1:1/keys",
      groupsClaim: "a.b",
      nameClaim: "login",
      roles: [
        ["cn=ops,dc=x", "admin"],
        ["staff", "read"],
      ],
      clockSkewMs: 5_000,
    });
  });

  it.each([
    [["--oidc-audience", "joust"], "--oidc-audience needs --oidc-issuer too"],
    [["--oidc-roles", "a=read"], "--oidc-roles needs --oidc-issuer too"],
    [issuer, "--oidc-issuer needs --oidc-audience too"],
    [[...provider, "--auth", "none"], "--oidc-issuer needs --auth keys"],
    [[...provider, "--api-key", "eyJh.eyJi.c"], "--api-key must not have the form of a JWT"],
    [["--oidc-issuer", "http://login.example"], "must be an https:// URL"],
    [["--oidc-issuer", "https://u@login.example"], "must be an https:// URL"],
    [["--oidc-issuer", "https://:p@login.example"], "must be an https:// URL"],
    [["--oidc-issuer", "https://login.example/?a=1"], "must be an https:// URL"],
    [[...provider, "--oidc-roles", "staff=owner"], "must be pairs of a group and one of"],
    [[...provider, "--oidc-roles", "staff=read,"], "must be pairs of a group and one of"],
  ])("is refused with %j", (args, message) => {
    expect(() => load(...args)).toThrow(message);
  });
});

describe("the origins of web pages", () => {
  it("are none by default, and a list or all", () => {
    expect(load().corsOrigins).toBeUndefined();
    const list = ["--cors-origins", "https://a.example,http://localhost:3000"];
    expect(load(...list, "--cors-origins", "https://b.example").corsOrigins).toEqual([
      "https://a.example",
      "http://localhost:3000",
      "https://b.example",
    ]);
    expect(load("--cors-origins", "*").corsOrigins).toEqual(["*"]);
  });

  it.each([
    [["*,https://a.example"], "takes either * or a list"],
    [["*", "--auth", "none"], "--cors-origins * needs --auth keys"],
    [["https://a.example/"], "must be * or an origin"],
    [["https://a.example:443"], "must be * or an origin"],
    [["https://A.example"], "must be * or an origin"],
    [["null"], "must be * or an origin"],
  ])("are refused with %j", (args, message) => {
    expect(() => load("--cors-origins", ...args)).toThrow(message);
  });
});
