import { describe, expect, it } from "vitest";
import { withoutPassword } from "../../src/server/without-password.js";

describe("the catalog in the log", () => {
  it.each([
    ["postgres://joust@db/joust", "postgres://joust@db/joust"],
    [
      "postgres://joust:secret@db:5432/joust?sslmode=require",
      "postgres://joust@db:5432/joust?sslmode=require",
    ],
    ["postgresql://joust:p@ss-word@db/joust", "postgresql://joust@db/joust"],
    [
      "postgres://joust@db/joust?password=secret&sslmode=require",
      "postgres://joust@db/joust?sslmode=require",
    ],
    ["postgres:///joust?host=/run/postgresql", "postgres:///joust?host=/run/postgresql"],
    [
      "postgres:///joust?host=/run/postgresql&password=secret",
      "postgres:///joust?host=%2Frun%2Fpostgresql",
    ],
    ["postgres://joust:secret@one:5432,two:5432/joust", "postgres://..."],
    ["/var/lib/joust/catalog.db", "/var/lib/joust/catalog.db"],
    ["C:\\joust\\catalog.db", "C:\\joust\\catalog.db"],
  ])("has no password: %s", (catalog, logged) => {
    expect(withoutPassword(catalog)).toBe(logged);
  });
});
