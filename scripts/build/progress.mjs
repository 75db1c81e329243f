const LINE_EVERY_MS = 30_000;
const PROGRESS = /Building \[[=> ]*\] (\d+)\/(\d+)(?:: (.*))?/;
const ROUTINE =
  /^\s*(Compiling|Building|Finished|Fresh|Blocking|Downloading|Downloaded|Updating|Locking|Adding|Running)\b/;

/** Makes cargo report its progress on a pipe as it does on a terminal. */
export const progressEnvironment = {
  CARGO_TERM_PROGRESS_WHEN: "always",
  CARGO_TERM_PROGRESS_WIDTH: "120",
  CARGO_TERM_COLOR: "never",
};

/**
 * Turns cargo's output into one updating line on a terminal, or a line every half minute
 * elsewhere. Warnings and errors pass through.
 */
export class CompileProgress {
  #out;
  #started = Date.now();
  #reported = Date.now();
  #rest = "";

  constructor(out = process.stderr) {
    this.#out = out;
  }

  write(chunk) {
    const pieces = (this.#rest + chunk.toString()).split(/[\r\n]/);
    this.#rest = pieces.pop() ?? "";
    for (const piece of pieces) this.#line(stripControls(piece));
  }

  end() {
    if (this.#rest !== "") this.#line(stripControls(this.#rest));
    if (this.#out.isTTY) this.#out.write("\x1b[2K\r");
  }

  #line(line) {
    const [, done, total, crates] = PROGRESS.exec(line) ?? [];
    if (done !== undefined) this.#report(Number(done), Number(total), crates);
    else if (line.trim() !== "" && !ROUTINE.test(line)) this.#out.write(`${line}\n`);
  }

  #report(done, total, crates = "") {
    const now = Date.now();
    const minutes = Math.floor((now - this.#started) / 60_000);
    const text = `compiling the engine: ${done} of ${total} crates, ${minutes} min ${crates && `(${crates})`}`;
    if (this.#out.isTTY) {
      this.#out.write(`\x1b[2K${text.slice(0, (this.#out.columns ?? 80) - 1)}\r`);
    } else if (now - this.#reported >= LINE_EVERY_MS) {
      this.#reported = now;
      this.#out.write(`${text}\n`);
    }
  }
}

function stripControls(line) {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: terminal control sequences
  return line.replace(/\x1b\[[0-9;]*[A-Za-z]/g, "");
}
