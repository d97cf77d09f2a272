import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { expect, test } from 'vitest'
import { startAdmissionGateway } from '../../support/admission-gateway.js'
import { wireEvent } from '../../support/gateway.js'
import { atEnd } from '../../support/run/at-end.js'

const observation = {
  event_id: randomUUID(),
  type: 'layer.heartbeat',
  occurred_at: '2026-11-21T09:30:00Z',
  source: 'gateway-eu-1',
  data: {},
}

test.each([
  ['an event', '/api/v1/invocations', wireEvent()],
  ['an observation', '/api/v1/events', observation],
])('%s that waited for its key is charged when it goes on, not as of its arrival', async (_, path, body) => {
  let nowMs = Date.now()
  const lookups = new EventEmitter()
  const onLookup = async (): Promise<void> => {
    lookups.emit('asked')
    await once(lookups, 'answered')
  }
  // A burst of two.
  const gateway = await startAdmissionGateway({ ingestPerSecond: 1, recorded: [], clock: () => nowMs, onLookup })
  atEnd(() => gateway.stop())

  const asked = once(lookups, 'asked')
  const waiting = gateway.post(JSON.stringify(body), randomUUID(), {}, path)
  await asked
  nowMs += 60_000
  // Refused for its missing key, which costs one.
  await gateway.post('{}', '', {}, '/api/v1/events')
  lookups.emit('answered')

  expect((await waiting).status).toBe(202)
})
