import { existsSync } from 'node:fs'
import { get } from 'node:http'
import { get as getSecurely } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits until one of the instance's own URLs answers with a 2xx status. Leaves no connection open, since the store
 * waits for open connections when it stops. Does not verify the certificate: the request goes to our own process by its
 * address.
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

/** For a role that makes a file when it is ready. */
export const isThere =
  (file: string) =>
  async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      if (existsSync(file)) return
      await sleep(50)
    }
    throw new Error(`${file} was not made`)
  }

/** Whether it answers with a 2xx status within two seconds. */
export const answersNow = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const options = { agent: false, timeout: 2_000, rejectUnauthorized: false } as const
    const ask = url.startsWith('https:') ? getSecurely : get
    const request = ask(url, options, (answer) => {
      answer.resume()
      resolve(answer.statusCode !== undefined && answer.statusCode < 300)
    })
    request.once('timeout', () => request.destroy())
    request.once('error', () => resolve(false))
  })
