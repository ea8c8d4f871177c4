/** Runs tasks, some at the same time, until all are done or the signal aborts. */
export async function inPool<T>(items: T[], width: number, signal: AbortSignal, task: (item: T, index: number) => Promise<void>) {
  let next = 0;
  const worker = async () => {
    while (next < items.length && !signal.aborted) {
      const at = next++;
      await task(items[at]!, at);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
}
