import { expect, it } from "vitest";
import { remoteAddress } from "../../../src/http/transport/remote-address.js";

const bytes = (text: string): ArrayBuffer => new TextEncoder().encode(text).buffer as ArrayBuffer;

it.each([
  ["127.0.0.1", "127.0.0.1"],
  ["::1", "::1"],
  ["0000:0000:0000:0000:0000:0000:0000:0001", "::1"],
  ["2001:0db8:0000:0000:0000:0000:0000:00ff", "2001:db8::ff"],
  ["::ffff:10.0.0.7", "10.0.0.7"],
  ["0000:0000:0000:0000:0000:ffff:0a00:0007", "10.0.0.7"],
  ["", ""],
])("the address %s is written as %s", (text, address) => {
  expect(remoteAddress(text)).toBe(address);
  expect(remoteAddress(bytes(text))).toBe(address);
});
