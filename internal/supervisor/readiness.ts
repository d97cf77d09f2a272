import { get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits until an http address answers with a 2xx status. Leaves no connection open: the store waits for those when
 * it stops.
 */
export const answersAt =
  (url: string) =>
  async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      if (await answersNow(url)) return
      await sleep(50)
    }
    throw new Error(`${url} did not become ready`)
  }

const answersNow = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: 2_000 }, (answer) => {
      answer.resume()
      resolve(answer.statusCode !== undefined && answer.statusCode < 300)
    })
    request.once('timeout', () => request.destroy())
    request.once('error', () => resolve(false))
  })
