import { invalidInput } from "../../foundation/errors.js";

/**
 * The range of a `Range` header for a value of `size` bytes: from `start` to before `end`; undefined without a header.
 *
 * @throws code 13 unless the header names one range of bytes
 */
export function readByteRange(
  header: string,
  size: number,
): [start: number, end: number] | "unsatisfiable" | undefined {
  if (header === "") return undefined;
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(header.trim()) ?? [];
  if (first === "" && last === "") {
    throw invalidInput(
      `the Range header is ${JSON.stringify(header.slice(0, 80))}: request one range, such as bytes=0-99`,
    );
  }
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : [size - length, size];
  }
  const start = Number(first);
  const end = last === "" ? size : Math.min(Number(last) + 1, size);
  if (last !== "" && Number(last) < start) {
    throw invalidInput(
      `the Range header ${JSON.stringify(header.slice(0, 80))} ends before it starts`,
    );
  }
  return start >= size ? "unsatisfiable" : [start, end];
}
