import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The checkout. */
export const checkout = fileURLToPath(new URL("../../", import.meta.url));

/** The fenced code blocks of one language in a markdown file of the checkout. */
export function codeBlocks(file: string, language: string): string[] {
  const text = readFileSync(new URL(file, new URL("../../", import.meta.url)), "utf8");
  const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"));
  return [...blocks].map(([, code]) => (code as string).trim());
}
