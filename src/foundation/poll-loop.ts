export interface PollOptions {
  /** Starts the first call at once instead of after one interval. */
  readonly immediate?: boolean;
}

/**
 * Calls `work` every `interval` ms until it is stopped. Calls never overlap: while one runs, its ticks are skipped.
 * `failed` receives the errors of `work`. The timer does not keep the process alive.
 *
 * @returns a function that stops the loop; it resolves when the running call has ended
 */
export function startPolling(
  interval: number,
  work: () => Promise<void>,
  failed: (error: unknown) => void,
  { immediate = false }: PollOptions = {},
): () => Promise<void> {
  let running: Promise<void> | undefined;
  const call = () => {
    running ??= work()
      .catch(failed)
      .finally(() => {
        running = undefined;
      });
  };
  const timer = setInterval(call, interval);
  timer.unref();
  if (immediate) call();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
