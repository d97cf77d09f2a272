import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { wireEvent } from '../invocations.js'
import { send, type Target } from './target.js'

/** A record of a call that two credentials have shown: no request that is drawn makes one. @returns its id */
export async function mergedRecord({ base_url, api_key }: Target['credentials']): Promise<string> {
  const post = async (path: string, body: object, key = api_key) => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json', 'idempotency-key': randomUUID() }
    return send(base_url, { method: 'POST', path, headers, body: JSON.stringify(body) })
  }
  const made = await post('/api/v1/api-keys', { name: 'another source', scopes: ['read:attribution'] })
  const { secret } = JSON.parse(made.text) as { secret: string }
  const call = { response_id: randomUUID(), ingestion_timestamp: new Date().toISOString() }
  const ids: string[] = []
  for (const key of [api_key, secret]) {
    let taken = await post('/api/v1/invocations', wireEvent({ ...call, event_id: randomUUID() }), key)
    // The gateway learns of a key within moments.
    while (taken.status === 401)
      taken = await post('/api/v1/invocations', wireEvent({ ...call, event_id: randomUUID() }), key)
    const { invocation_id } = JSON.parse(taken.text) as { invocation_id: string }
    ids.push(invocation_id.replace('inv_', 'attr_'))
  }
  for (;;) {
    for (const id of ids) {
      const { status, text } = await send(base_url, {
        method: 'GET',
        path: `/v1/attribution/${id}`,
        headers: { 'x-api-key': api_key },
      })
      if (status === 200 && JSON.parse(text).explanation.seen_by.length > 0) return id
    }
    await sleep(50)
  }
}
