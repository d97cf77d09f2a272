import { expect, onTestFinished, test, vi } from 'vitest'
import { decodeEntry } from '../../../internal/audit/audit-codec.js'
import { createAuditSink, RefusalLimit } from '../../../internal/audit/audit-sink.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { auditEntry } from '../../support/audit.js'

const NOW_MS = Date.UTC(2026, 10, 21)
const refusal = (stated: Parameters<typeof auditEntry>[0] = {}) =>
  auditEntry({ outcome: 'refused', errorCode: 'INSUFFICIENT_SCOPE', ...stated })

/** How many of a number of equal refusals are recorded individually. */
const takenOf = (limit: RefusalLimit, count: number, stated?: Parameters<typeof auditEntry>[0]): number =>
  Array.from({ length: count }, () => limit.take(refusal(stated), NOW_MS)).filter((isTaken) => isTaken).length

test('the first refusals of a caller are recorded individually, the rest together as the last of them', () => {
  const limit = new RefusalLimit()

  const taken = takenOf(limit, 1_000)
  limit.take(refusal({ target: 'the last' }), NOW_MS)

  expect(taken).toBe(20)
  expect(limit.release(NOW_MS)).toEqual([refusal({ target: 'the last', repeats: 981 })])
  expect(limit.release(NOW_MS)).toEqual([])
})

test('a flood of refusals does not hide another caller, action or tenant', () => {
  const limit = new RefusalLimit()
  takenOf(limit, 1_000)

  expect(takenOf(limit, 1, { actor: 'key_two' })).toBe(1)
  expect(takenOf(limit, 1, { action: 'api_key.create' })).toBe(1)
  expect(takenOf(limit, 1, { tenantId: 'tnt_two' })).toBe(1)
})

test('a flood of refusals from changing addresses does not fill a log, and every refusal is counted', () => {
  const limit = new RefusalLimit()
  let recorded = 0
  for (let i = 0; i < 5_000; i++) {
    if (limit.take(refusal({ actor: null, sourceAddress: `2001:db8::${i}` }), NOW_MS)) recorded++
  }

  expect(recorded).toBe(200)
  let released = 0
  let nowMs = NOW_MS
  for (let entries = limit.release(nowMs); released + recorded < 5_000; entries = limit.release(nowMs)) {
    expect(entries.length).toBeLessThanOrEqual(nowMs === NOW_MS ? 0 : 10)
    released += entries.reduce((sum, { repeats }) => sum + repeats, 0)
    nowMs += 10_000
  }
  expect(released).toBe(4_800)
})

test('all counted refusals are released when the process ends', () => {
  const limit = new RefusalLimit()
  takenOf(limit, 300, { actor: 'key_one' })
  takenOf(limit, 300, { actor: 'key_two' })

  expect(limit.release(NOW_MS, true).map(({ actor, repeats }) => [actor, repeats])).toEqual([
    ['key_one', 280],
    ['key_two', 280],
  ])
})

test('counted refusals that the broker does not take are recorded once it does', async () => {
  vi.useFakeTimers({ now: NOW_MS })
  onTestFinished(() => void vi.useRealTimers())
  let isUp = true
  const stored = new Map<string, number>()
  const sink = createAuditSink({
    async publish(_subject, payload, messageId) {
      // The answer is lost, and perhaps not the entry.
      if (!isUp && stored.size % 2 === 0) return { kind: 'unavailable', reason: 'timeout' }
      stored.set(messageId, decodeEntry(payload).repeats)
      return isUp ? { kind: 'stored', sequence: 1, duplicate: false } : { kind: 'unavailable', reason: 'timeout' }
    },
    clock: Date.now,
    log: createLog('test', 'silent'),
  })
  const recorded = (): number => [...stored.values()].reduce((sum, repeats) => sum + repeats, 0)
  for (const actor of ['key_one', 'key_two', 'key_three']) {
    for (let i = 0; i < 300; i++) {
      const { repeats: _, ...entry } = refusal({ actor })
      await sink.record(entry)
    }
  }
  expect(recorded()).toBe(60)

  isUp = false
  await vi.advanceTimersByTimeAsync(60_000)
  isUp = true
  await vi.advanceTimersByTimeAsync(10_000)

  expect(recorded()).toBe(900)
  await sink.close()
})
