import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { send, type Target } from './target.js'

/**
 * A file to download. Drawn requests order exports faster than one exporter writes them, and ask for the newest, whose
 * turn has not come.
 *
 * @returns the answer that names the file
 */
export async function exportedFile({ base_url, api_key }: Target['credentials']): Promise<string> {
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { 'x-api-key': api_key, 'content-type': 'application/json', 'idempotency-key': randomUUID() }
    return (await send(base_url, { method, path, headers, ...(body && { body: JSON.stringify(body) }) })).text
  }
  const period = { from: '2026-10-01', to: '2026-10-31' }
  const { status_url } = JSON.parse(await ask('POST', '/v1/exports/focus', { format: 'focus', period }))
  for (;;) {
    const text = await ask('GET', status_url)
    if (JSON.parse(text).result_url !== undefined) return text
    await sleep(50)
  }
}
