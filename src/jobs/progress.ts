import type { JobProgress } from "./jobs.js";

/** Least time between two writes of a job's progress, ms. */
const MIN_WRITE_INTERVAL = 250;

/** Writes the first report at once, and then the newest one at intervals. */
export function throttleProgress(write: (progress: JobProgress) => void): {
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
    timer = setTimeout(flush, MIN_WRITE_INTERVAL);
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
