/**
 * Calls `work` every `interval` ms, never twice at the same time, until it is stopped. `failed` gets what `work`
 * throws. Gives back how to stop; that waits for a call under way.
 */
export function startPolling(
  interval: number,
  work: () => Promise<void>,
  failed: (error: unknown) => void,
): () => Promise<void> {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= work()
      .catch(failed)
      .finally(() => {
        running = undefined;
      });
  }, interval);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
