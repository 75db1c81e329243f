import { expect, it } from "vitest";
import { identityOf } from "../../src/auth/oidc/claims.js";

const settings = {
  groupsClaim: "groups",
  roles: [
    ["ops", "admin"],
    ["staff", "read"],
  ] as [string, "admin" | "read"][],
};
const user = { iss: "https://login.example", sub: "u1" };

it("names a user by issuer and subject, and for people by the e-mail address", () => {
  const identity = identityOf({ ...user, email: "a@example.org" }, settings);
  expect(identity).toEqual({
    id: "user:https://login.example#u1",
    name: "a@example.org",
    role: "none",
    groups: [],
  });
});

it("names a user by the subject without the claim of the name", () => {
  expect(identityOf(user, settings).name).toBe("u1");
  const named = { ...settings, nameClaim: "login" };
  expect(identityOf({ ...user, email: "a@example.org" }, named).name).toBe("u1");
  expect(identityOf({ ...user, login: "ann" }, named).name).toBe("ann");
});

it("shortens a long name", () => {
  expect(identityOf({ ...user, email: "x".repeat(1_000) }, settings).name).toHaveLength(200);
});

it("gives the highest role of the groups", () => {
  expect(identityOf({ ...user, groups: ["staff", "ops"] }, settings).role).toBe("admin");
  expect(identityOf({ ...user, groups: ["staff"] }, settings).role).toBe("read");
});

it.each([
  ["a path", "realm_access.roles", { realm_access: { roles: ["ops"] } }, ["ops"]],
  ["a name with dots", "https://x.example/g", { "https://x.example/g": ["ops"] }, ["ops"]],
  ["one text", "groups", { groups: "ops" }, ["ops"]],
  ["values that are no text", "groups", { groups: [1, null, "", { a: 1 }, "ops"] }, ["ops"]],
  ["a path through a text", "a.length", { a: "text" }, []],
])("reads groups from %s", (_, groupsClaim, claims, groups) => {
  expect(identityOf({ ...user, ...claims }, { ...settings, groupsClaim }).groups).toEqual(groups);
});
