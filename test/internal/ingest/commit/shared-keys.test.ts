import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Commit } from '../../../../internal/ingest/commit/log-writer.js'
import { SharedKeys } from '../../../../internal/ingest/commit/shared-keys.js'
import { ADMITTED_KEY_BYTES, SENDER_BYTES } from '../../../../internal/ingest/keys/admitted-keys.js'
import { GROUP_BYTES_MAX } from '../../../../streams/invocations.js'

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

/** Groups of so many keys each come; or the message on its way is stored, or fails. */
const count = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 1, max: 5 }) },
  { weight: 1, arbitrary: fc.constant(KEYS_MAX) },
)
const step = fc.oneof(
  fc.record({ counts: fc.array(count, { minLength: 1, maxLength: 6 }) }),
  fc.record({ isStored: fc.boolean() }),
)

test('each group’s keys are stored once, one message at a time, and settled by their own message', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      const messages: Uint8Array[] = []
      let asked = 0
      const outcome = new Map<number, string>()
      const expected = new Map<number, string>()
      let settle: ((isStored: boolean) => void) | undefined
      const write = (message: Uint8Array): Promise<Commit> => {
        expect(settle).toBeUndefined()
        messages.push(message)
        return new Promise((resolve) => {
          settle = (isStored) => {
            settle = undefined
            for (const group of groupsIn(message)) expected.set(group, isStored ? 'stored' : 'unavailable')
            resolve(isStored ? { kind: 'stored' } : { kind: 'unavailable', detail: '' })
          }
        })
      }
      const shared = new SharedKeys(write, () => asked++)
      const sent: [group: number, count: number][] = []
      const turn = () => new Promise(setImmediate)
      for (const what of [...steps, ...Array.from({ length: 40 }, () => ({ isStored: true }))]) {
        if ('isStored' in what) settle?.(what.isStored)
        else {
          for (const count of what.counts) {
            const group = sent.push([sent.length, count]) - 1
            void shared.store(keysOf(group, count)).then(({ kind }) => outcome.set(group, kind))
          }
        }
        await turn()
        // Nothing is written that was not asked for.
        if (asked > 0) shared.flush()
        asked = 0
      }

      expect(messages.flatMap((message) => groupsIn(message))).toEqual(
        sent.flatMap(([group, count]) => Array(count).fill(group)),
      )
      expect(outcome).toEqual(expected)
      expect(outcome.size).toBe(sent.length)
      for (const message of messages) {
        expect(message.subarray(0, SENDER_BYTES)).toEqual(SENDER)
        expect(message.length).toBeLessThanOrEqual(GROUP_BYTES_MAX)
      }
    }),
    { numRuns: 20 },
  )
})

test('groups that come while a message is on its way share the next one', async () => {
  const messages: number[][] = []
  let stored = (): void => undefined
  const write = (payload: Uint8Array): Promise<Commit> => {
    messages.push(groupsIn(payload))
    return new Promise((resolve) => {
      stored = () => resolve({ kind: 'stored' })
    })
  }
  const shared = new SharedKeys(write, () => undefined)
  const all = [0, 1].map((group) => shared.store(keysOf(group, 1)))
  shared.flush()
  for (const group of [2, 3, 4]) all.push(shared.store(keysOf(group, 1)))
  shared.flush()
  expect(messages).toEqual([[0, 1]])
  stored()
  await Promise.all(all.slice(0, 2))
  shared.flush()
  stored()
  await Promise.all(all)

  expect(messages).toEqual([
    [0, 1],
    [2, 3, 4],
  ])
})
