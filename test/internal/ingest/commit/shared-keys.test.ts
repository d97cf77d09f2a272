import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SharedKeys } from '../../../../internal/ingest/commit/shared-keys.js'
import { ADMITTED_KEY_BYTES, SENDER_BYTES } from '../../../../internal/ingest/keys/admitted-keys.js'
import { GROUP_BYTES_MAX } from '../../../../streams/invocations.js'
import { drawn } from '../../../support/run/rings.js'

const SENDER = Buffer.alloc(SENDER_BYTES, 0xaa)
/** Keys that carry the number of their group. */
const keysOf = (group: number, count: number): Uint8Array => {
  const bytes = Buffer.alloc(count * ADMITTED_KEY_BYTES)
  for (let at = 0; at < bytes.length; at += ADMITTED_KEY_BYTES) bytes.writeUInt32LE(group, at)
  return Buffer.concat([SENDER, bytes])
}
const groupsIn = (payload: Uint8Array): number[] => {
  const bytes = Buffer.from(payload).subarray(SENDER_BYTES)
  return Array.from({ length: bytes.length / ADMITTED_KEY_BYTES }, (_, i) => bytes.readUInt32LE(i * ADMITTED_KEY_BYTES))
}
const KEYS_MAX = Math.floor((GROUP_BYTES_MAX - SENDER_BYTES) / ADMITTED_KEY_BYTES)

/** Groups of so many keys each come in one turn, or a message that is on its way is stored. */
const count = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 1, max: 5 }) },
  { weight: 1, arbitrary: fc.constant(KEYS_MAX) },
)
const step = fc.oneof(
  fc.record({ counts: fc.array(count, { minLength: 1, maxLength: 6 }) }),
  fc.constant({ counts: [] }),
)

test('each group’s keys are sent once, in the turn in which they came, and the end waits until all are stored', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      const messages: Uint8Array[] = []
      const stored: (() => void)[] = []
      const write = (message: Uint8Array): Promise<void> => {
        messages.push(message)
        return new Promise((resolve) => stored.push(resolve))
      }
      let asked = 0
      const shared = new SharedKeys(write, () => asked++)
      const expected: number[] = []
      let sent = 0
      for (const [group, { counts }] of steps.entries()) {
        const all = counts.map((count) => shared.send(keysOf(group, count)).then(() => sent++))
        expect(asked > 0).toBe(counts.length > 0)
        for (const count of counts) expected.push(...Array(count).fill(group))
        if (counts.length === 0) stored.shift()?.()
        if (asked > 0) shared.flush()
        asked = 0
        await Promise.all(all)
        expect(messages.flatMap((message) => groupsIn(message))).toEqual(expected)
      }

      for (const message of messages) {
        expect(message.subarray(0, SENDER_BYTES)).toEqual(SENDER)
        expect(message.length).toBeLessThanOrEqual(GROUP_BYTES_MAX)
      }
      let isDelivered = false
      const delivered = shared.delivered().then(() => {
        isDelivered = true
      })
      for (const resolve of stored) {
        await new Promise(setImmediate)
        expect(isDelivered).toBe(false)
        resolve()
      }
      await delivered
    }),
    { numRuns: drawn(20) },
  )
})

test('groups that the log takes in one turn share a message, and wait for no other', async () => {
  const messages: number[][] = []
  const shared = new SharedKeys(
    (payload) => {
      messages.push(groupsIn(payload))
      return new Promise(() => undefined)
    },
    () => undefined,
  )
  for (const groups of [
    [0, 1],
    [2, 3, 4],
  ]) {
    const all = groups.map((group) => shared.send(keysOf(group, 1)))
    shared.flush()
    await Promise.all(all)
  }

  expect(messages).toEqual([
    [0, 1],
    [2, 3, 4],
  ])
})
