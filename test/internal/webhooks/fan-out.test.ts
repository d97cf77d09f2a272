import { expect, test } from 'vitest'
import type { StoredEntry } from '../../../internal/broker/log.js'
import { tenantIdsCache } from '../../../internal/ids/ids.js'
import { type FanOutDeps, fanOut } from '../../../internal/webhooks/fan-out.js'

const entry = (sequence: number): StoredEntry => ({
  sequence,
  subject: 'events.tnt_one.apikey.rotated',
  messageId: `evt_${sequence}`,
  storedAt: '2026-11-22T10:00:00.000000000Z',
  data: Buffer.from('{}'),
})

async function gapsLogged(sequences: readonly number[], done: number): Promise<unknown[]> {
  const errors: unknown[] = []
  const prepare = await opened({ error: (fields: unknown) => void errors.push(fields) } as FanOutDeps['log'])
  const entries = sequences.map(entry)
  const [first = 0, last = 0] = [sequences[0], sequences.at(-1)]
  await prepare(entries, { first, last, atMs: 0 }, { done }, undefined)
  return errors
}

const opened = (log: FanOutDeps['log']) =>
  fanOut({
    current: async () => () => [],
    publish: () => Promise.reject(new Error('nobody subscribes')),
    lastDelivery: async () => 0,
    deliveriesAfter: async () => [],
    wake: () => undefined,
    idsOf: tenantIdsCache(Buffer.alloc(32)),
    log,
  }).open({ done: 0 })

test('events that the stream discarded before they were read are logged for the operator', async () => {
  expect(await gapsLogged([5, 6], 4)).toEqual([])
  expect(await gapsLogged([1], 0)).toEqual([])
  expect(await gapsLogged([8, 9], 4)).toEqual([{ lost: 3, from_sequence: 5 }])
})
