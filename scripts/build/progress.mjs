import { Estimate, roughly } from "./estimate.mjs";

const LINE_EVERY_MS = 30_000;
/** A crate can compile for minutes without output of cargo, while the remaining time decreases. */
const REDRAW_EVERY_MS = 5000;
const BAR_WIDTH = 24;
const PROGRESS = /Building \[[=> ]*\] (\d+)\/(\d+)(?:: (.*))?/;
const CRATE = /^\s*(Fresh|Compiling) (\S+) v/;
const ROUTINE =
  /^\s*(Compiling|Building|Finished|Fresh|Dirty|Blocking|Downloading|Downloaded|Updating|Locking|Adding|Running)\b/;

/** Makes cargo print its progress to a pipe. */
export const progressEnvironment = {
  CARGO_TERM_PROGRESS_WHEN: "always",
  CARGO_TERM_PROGRESS_WIDTH: "160",
  CARGO_TERM_COLOR: "never",
};

/** Makes cargo also print the crates that are up to date. */
export const progressFlags = ["--verbose"];

/**
 * Replaces the output of cargo by a progress bar with the remaining time on a terminal, or by a line every 30
 * seconds elsewhere. Warnings and errors pass through.
 */
export class CompileProgress {
  #out;
  #now;
  #started;
  #reported;
  #estimate;
  #rest = "";
  #crates = "";
  #seen = false;
  #timer;

  /**
   * @param {{
   *   weights: import("./estimate.mjs").Weights,
   *   names: Iterable<string>,
   *   out?: { isTTY?: boolean, columns?: number, write(text: string): unknown },
   *   now?: () => number,
   * }} options `names`: the crates of the build
   */
  constructor({ weights, names, out = process.stderr, now = Date.now }) {
    this.#out = out;
    this.#now = now;
    this.#started = now();
    this.#reported = this.#started;
    this.#estimate = new Estimate(weights, names, this.#started);
    this.#timer = setInterval(() => this.#report(), REDRAW_EVERY_MS);
    this.#timer.unref();
  }

  write(chunk) {
    const lines = (this.#rest + chunk.toString()).split(/[\r\n]/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#line(stripControls(line));
  }

  end() {
    clearInterval(this.#timer);
    if (this.#rest !== "") this.#line(stripControls(this.#rest));
    if (this.#out.isTTY) this.#out.write("\x1b[2K\r");
  }

  #line(line) {
    const [, state, crate] = CRATE.exec(line) ?? [];
    if (state === "Fresh") this.#estimate.fresh(crate);
    if (state === "Compiling") this.#estimate.begin(crate);
    const [, done, , crates = ""] = PROGRESS.exec(line) ?? [];
    if (done !== undefined) {
      this.#seen = true;
      this.#crates = crates.trim();
      this.#estimate.compiling(this.#crates.split(","), this.#now());
      this.#report();
    } else if (line.trim() !== "" && !ROUTINE.test(line)) {
      if (this.#out.isTTY) this.#out.write("\x1b[2K");
      this.#out.write(`${line}\n`);
    }
  }

  #report() {
    if (!this.#seen) return;
    const now = this.#now();
    if (this.#out.isTTY) {
      const text = `${bar(this.#estimate.share(now))} ${this.#text(now)}`;
      this.#out.write(`\x1b[2K${text.slice(0, (this.#out.columns ?? 80) - 1)}\r`);
    } else if (now - this.#reported >= LINE_EVERY_MS) {
      this.#reported = now;
      this.#out.write(`compiling the engine: ${this.#text(now)}\n`);
    }
  }

  #text(now) {
    const share = Math.floor(this.#estimate.share(now) * 100);
    const left = roughly(this.#estimate.left(now));
    const minutes = Math.floor((now - this.#started) / 60_000);
    const guess = this.#estimate.isMeasured(now) ? "left" : "left by a first estimate";
    return `${share} %, ${minutes} min, ${left} ${guess}${this.#crates && ` (${this.#crates})`}`;
  }
}

function bar(share) {
  const filled = Math.round(share * BAR_WIDTH);
  return `[${"#".repeat(filled)}${"-".repeat(BAR_WIDTH - filled)}]`;
}

function stripControls(line) {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: terminal control sequences
  return line.replace(/\x1b\[[0-9;]*[A-Za-z]/g, "");
}
