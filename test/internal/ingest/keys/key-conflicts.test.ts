import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { PublishEvent } from '../../../../internal/events/publish-event.js'
import { formatId } from '../../../../internal/ids/ids.js'
import { hexOf, type KeyHash, wordsOf } from '../../../../internal/ids/key-hash.js'
import { conflictNotices } from '../../../../internal/ingest/keys/key-conflicts.js'
import { OwnCalls } from '../../../../internal/ingest/keys/own-calls.js'
import { METRICS } from '../../../../internal/telemetry/metrics.js'
import { idOf } from '../../../support/invocations.js'

const keyOf = (): KeyHash => Int32Array.from(wordsOf(randomBytes(16)))

test('an own call is taken by its key, once, and no other key takes it', () => {
  const calls = new OwnCalls()
  const [key, other] = [keyOf(), keyOf()]
  calls.add(key, 'tnt_one', idOf(1))
  // In the same place of the table.
  const neighbour = Int32Array.from(key)
  neighbour[0] = (neighbour[0] ?? 0) ^ 1

  const others = [other, neighbour, new Int32Array(4)].map((each) => calls.take(each))

  expect(others).toEqual([undefined, undefined, undefined])
  expect(calls.take(key)).toEqual({ tenantId: 'tnt_one', id: new Uint8Array(idOf(1)) })
  expect(calls.take(key)).toBeUndefined()
})

test('of two own calls in one place, the newer one is known; an id is a copy', () => {
  const calls = new OwnCalls()
  const key = keyOf()
  const id = Buffer.from(idOf(2))
  calls.add(key, 'tnt_one', idOf(1))
  calls.add(key, 'tnt_two', id)
  const found = calls.take(key)
  id.fill(0)
  calls.add(key, 'tnt_three', idOf(3))

  expect(found).toEqual({ tenantId: 'tnt_two', id: new Uint8Array(idOf(2)) })
})

const counted = async (): Promise<number> =>
  (await METRICS.getSingleMetric('attribution_admission_key_conflicts_total')?.get())?.values[0]?.value ?? 0

interface Told {
  readonly events: Parameters<PublishEvent>[0][]
  readonly lines: object[]
}

function notices(publish: (event: Parameters<PublishEvent>[0]) => Promise<void> = async () => undefined) {
  const told: Told = { events: [], lines: [] }
  const calls = new OwnCalls()
  const onConflict = conflictNotices(calls, {
    publishEvent: (async (event: Parameters<PublishEvent>[0]) => {
      told.events.push(event)
      await publish(event)
    }) as PublishEvent,
    log: { warn: (line: object) => void told.lines.push(line) },
  })
  return { calls, onConflict, told }
}

test('a gateway counts its own call of a key with two bodies once, and names it in the event log and in its log', async () => {
  const { calls, onConflict, told } = notices()
  const key = keyOf()
  const invocationId = formatId('inv', idOf(1))
  calls.add(key, 'tnt_one', idOf(1))

  const before = await counted()
  onConflict(key)
  // The stream is read again, or a third gateway admitted a body.
  onConflict(key)

  expect(await counted()).toBe(before + 1)
  expect(told.events).toEqual([
    {
      tenantId: 'tnt_one',
      type: 'ingestion.key.conflict',
      cause: `${hexOf(key)} ${invocationId}`,
      data: { invocation_id: invocationId },
    },
  ])
  expect(told.lines).toEqual([{ tenantId: 'tnt_one', invocationId }])
})

test('a gateway does not count a conflict between others, and says nothing of it', async () => {
  const { onConflict, told } = notices()
  const before = await counted()

  onConflict(keyOf())

  expect(await counted()).toBe(before)
  expect(told).toEqual({ events: [], lines: [] })
})

test('a conflict that cannot be reported is in the log, and ends nothing', async () => {
  const { calls, onConflict, told } = notices(() => Promise.reject(new Error('no broker')))
  const key = keyOf()
  calls.add(key, 'tnt_one', idOf(1))

  onConflict(key)

  await expect.poll(() => told.lines.length).toBe(2)
  expect(told.lines[1]).toMatchObject({ tenantId: 'tnt_one', err: expect.any(Error) })
})
