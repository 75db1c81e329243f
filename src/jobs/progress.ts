import type { JobProgress } from "./jobs.js";

/** Least time between two writes of a job's progress, ms. */
const INTERVAL = 250;

/** Lets the first report through at once and later ones, the newest each time, at intervals. */
export function throttled(write: (progress: JobProgress) => void): {
  report(progress: JobProgress): void;
  stop(): void;
} {
  let pending: JobProgress | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const flush = () => {
    timer = undefined;
    if (!pending) return;
    write(pending);
    pending = undefined;
    timer = setTimeout(flush, INTERVAL);
    timer.unref();
  };
  return {
    report(progress) {
      if (stopped) return;
      pending = progress;
      if (!timer) flush();
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
