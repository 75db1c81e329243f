import { escaped } from "./svg.mjs";

const HUES = [
  "#c2410c",
  "#1d4ed8",
  "#7c8798",
  "#4b5563",
  "#15803d",
  "#9333ea",
  "#0e7490",
  "#a16207",
];

/** The number of colors; further contenders repeat them. */
export const hues = HUES.length;

const STYLE = `
:root { color-scheme: light dark; --ink: #1f2430; --faint: #6b7280; --line: #d8dbe2; --ground: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5e7eb; --faint: #9ca3af; --line: #374151; --ground: #14171d; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground); max-width: 1180px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: 3px 10px; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { color: var(--faint); font-weight: 600; } td.words, th.words { text-align: left; }
svg { max-width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
.faint, svg .faint { color: var(--faint); fill: var(--faint); } .grid { stroke: var(--line); }
polyline { fill: none; stroke-width: 2; }
${HUES.map((hue, i) => `.hue-${i} { fill: ${hue}; } .line-${i} { stroke: ${hue}; }`).join("\n")}`;

/**
 * A self-contained HTML page.
 *
 * @param {string} title
 * @param {readonly string[]} parts in HTML
 */
export function page(title, parts) {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title><style>${STYLE}</style></head>
<body><h1>${escaped(title)}</h1>
${parts.join("\n")}
</body></html>
`;
}

/**
 * @param {readonly { head: string, words?: boolean }[]} heads
 * @param {readonly (readonly string[])[]} rows
 */
export function htmlTable(heads, rows) {
  const kind = (i) => (heads[i]?.words ? ' class="words"' : "");
  const head = heads.map(({ head: text }, i) => `<th${kind(i)}>${escaped(text)}</th>`).join("");
  const body = rows.map(
    (row) => `<tr>${row.map((cell, i) => `<td${kind(i)}>${escaped(cell)}</td>`).join("")}</tr>`,
  );
  return `<div class="scroll"><table><tr>${head}</tr>${body.join("\n")}</table></div>`;
}
