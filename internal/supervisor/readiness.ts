import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until an address answers with a 2xx status. */
export const answersAt =
  (url: string) =>
  async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const isThere = await fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
        (answer) => answer.ok,
        () => false,
      )
      if (isThere) return
      await sleep(50)
    }
    throw new Error(`${url} did not become ready`)
  }
