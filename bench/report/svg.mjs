import { figure } from "./format.mjs";

/** Escapes a text for HTML content and attributes. @param {string} text */
export function escaped(text) {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** @typedef {readonly [number, number]} Point */

/**
 * Horizontal bars in the given order.
 *
 * @param {readonly { name: string, value: number, hue: number, note?: string }[]} bars
 */
export function barChart(bars) {
  const most = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE);
  const [left, width, step] = [230, 360, 26];
  const drawn = bars.map(({ name, value, hue, note = "" }, i) => {
    const y = i * step + 4;
    const length = Math.max(1, (value / most) * width);
    return `<text x="${left - 8}" y="${y + 13}" text-anchor="end">${escaped(name)}</text>
<rect class="hue-${hue}" x="${left}" y="${y}" width="${length.toFixed(1)}" height="18" rx="2"/>
<text x="${left + length + 6}" y="${y + 13}">${figure(value)} <tspan class="faint">${escaped(note)}</tspan></text>`;
  });
  return svg(left + width + 190, bars.length * step + 8, drawn);
}

/**
 * Points joined by a line for each series. `loose` points have no line.
 *
 * @param {{
 *   series: readonly { name: string, hue: number, points: readonly Point[], loose?: readonly Point[], dashed?: boolean }[],
 *   x: string, y: string, logX?: boolean, logY?: boolean,
 * }} chart
 */
export function lineChart({ series, x, y, logX = false, logY = false }) {
  const points = series.flatMap((one) => [...one.points, ...(one.loose ?? [])]);
  const horizontal = axis(
    points.map(([value]) => value),
    logX,
    70,
    520,
  );
  const vertical = axis(
    points.map(([, value]) => value),
    logY,
    250,
    20,
  );
  const grid = [
    ...horizontal.ticks.map(
      (
        tick,
      ) => `<line class="grid" x1="${horizontal.at(tick)}" x2="${horizontal.at(tick)}" y1="20" y2="250"/>
<text x="${horizontal.at(tick)}" y="268" text-anchor="middle">${figure(tick)}</text>`,
    ),
    ...vertical.ticks.map(
      (
        tick,
      ) => `<line class="grid" x1="70" x2="520" y1="${vertical.at(tick)}" y2="${vertical.at(tick)}"/>
<text x="64" y="${vertical.at(tick) + 4}" text-anchor="end">${figure(tick)}</text>`,
    ),
    `<text class="faint" x="295" y="288" text-anchor="middle">${escaped(x)}</text>`,
    `<text class="faint" x="70" y="12">${escaped(y)}</text>`,
  ];
  const lines = series.map(({ name, hue, points: joined, loose = [], dashed = false }, i) => {
    const at = joined.map(([a, b]) => [horizontal.at(a), vertical.at(b)]);
    const path = at.map(([a, b]) => `${a},${b}`).join(" ");
    const dot = (a, b, r) => `<circle class="hue-${hue}" cx="${a}" cy="${b}" r="${r}"/>`;
    const dots = [
      ...at.map(([a, b]) => dot(a, b, 4)),
      ...loose.map(([a, b]) => dot(horizontal.at(a), vertical.at(b), 2)),
    ];
    const dashes = dashed ? ' stroke-dasharray="6 4"' : "";
    const [legend, middle] = [30 + i * 20, 34 + i * 20];
    return `<polyline class="line-${hue}"${dashes} points="${path}"/>${dots.join("")}
<polyline class="line-${hue}"${dashes} points="534,${legend} 554,${legend}"/><text x="560" y="${middle}">${escaped(name)}</text>`;
  });
  return svg(800, Math.max(296, 40 + series.length * 20), [...grid, ...lines]);
}

/** The positions of values on an axis, and its ticks. */
function axis(values, logarithmic, from, to) {
  const scale = logarithmic ? Math.log10 : (value) => value;
  const positive = logarithmic ? values.filter((value) => value > 0) : values;
  let [least, most] = [Math.min(...positive), Math.max(...positive)];
  if (logarithmic) {
    least = 10 ** Math.floor(Math.log10(least));
    most = 10 ** Math.ceil(Math.log10(most));
    if (least === most) most *= 10;
  } else if (least === most) {
    [least, most] = [least - 1, most + 1];
  }
  const span = scale(most) - scale(least);
  const at = (value) => {
    const share = logarithmic && value <= 0 ? 0 : (scale(value) - scale(least)) / span;
    return Number((from + share * (to - from)).toFixed(1));
  };
  const decades = Math.round(span);
  const ticks = logarithmic
    ? Array.from({ length: decades + 1 }, (_, i) => least * 10 ** i)
    : Array.from({ length: 5 }, (_, i) => least + (i / 4) * (most - least));
  return { at, ticks };
}

function svg(width, height, parts) {
  return `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">${parts.join("\n")}</svg>`;
}
