import { expect, test } from 'vitest'
import { MissingKeys } from '../../../../internal/ingest/keys/missing-keys.js'
import { KEY_WINDOW_MS } from '../../../../internal/ingest/keys/open-keys.js'
import { createLog } from '../../../../internal/telemetry/log.js'

const HOUR_MS = 60 * 60 * 1000
const NOW_MS = 1_000 * HOUR_MS

/** @param recordedAtMs when the keys were admitted that the read model has */
function missing(...recordedAtMs: readonly number[]) {
  const asked: string[] = []
  let failures = 0
  let answered = (): void => undefined
  const keys = new MissingKeys({
    async hasKeysBetween(fromMs, toMs) {
      asked.push(`${(fromMs - NOW_MS) / HOUR_MS} to ${(toMs - NOW_MS) / HOUR_MS}`)
      if (failures-- > 0) throw new Error('the read model is unavailable')
      setImmediate(() => answered())
      return recordedAtMs.some((atMs) => atMs >= fromMs && atMs < toMs)
    },
    clock: () => NOW_MS,
    log: createLog('test', 'silent'),
    signal: new AbortController().signal,
  })
  keys.onCaughtUp()
  return {
    asked,
    async gap(fromMs: number, toMs: number, failing = 0) {
      failures = failing
      const done = new Promise<void>((resolve) => {
        answered = resolve
      })
      keys.onGap(fromMs, toMs)
      const before = keys.arePossible(NOW_MS)
      await done
      return [before, keys.arePossible(NOW_MS)]
    },
    onGap: keys.onGap.bind(keys),
    arePossible: keys.arePossible.bind(keys),
  }
}

test('until KEYS is read keys may be missing', () => {
  const keys = new MissingKeys({
    hasKeysBetween: async () => false,
    clock: () => NOW_MS,
    log: createLog('test', 'silent'),
    signal: new AbortController().signal,
  })

  const before = keys.arePossible(NOW_MS)
  keys.onCaughtUp()

  expect([before, keys.arePossible(NOW_MS)]).toEqual([true, false])
})

test('keys may be missing for as long as one that was written before the stream begins counts', async () => {
  const keys = missing(NOW_MS - 6 * HOUR_MS)
  const toMs = NOW_MS - 5 * HOUR_MS

  expect(await keys.gap(0, toMs)).toEqual([true, true])

  expect([toMs + KEY_WINDOW_MS - 1, toMs + KEY_WINDOW_MS].map((atMs) => keys.arePossible(atMs))).toEqual([true, false])
})

test('none is missing where the read model has none of before, as in a new instance', async () => {
  const keys = missing(NOW_MS - HOUR_MS, NOW_MS - 25 * HOUR_MS)

  expect(await keys.gap(0, NOW_MS - HOUR_MS)).toEqual([true, false])
})

test('where the stream has a whole day, or went on at once, nothing is asked', () => {
  const keys = missing(NOW_MS - 24 * HOUR_MS, NOW_MS - HOUR_MS)

  keys.onGap(0, NOW_MS - 24 * HOUR_MS + 1_000)
  keys.onGap(NOW_MS - HOUR_MS, NOW_MS - HOUR_MS + 10_000)

  expect([keys.asked, keys.arePossible(NOW_MS)]).toEqual([[], false])
})

test('until the read model answers keys may be missing', async () => {
  const keys = missing()

  expect(await keys.gap(0, NOW_MS, 1)).toEqual([true, false])
  expect(keys.asked).toHaveLength(2)
})

test('a later gap without keys does not end an earlier one', async () => {
  const keys = missing(NOW_MS - 6 * HOUR_MS)
  await keys.gap(0, NOW_MS - 5 * HOUR_MS)

  expect(await keys.gap(NOW_MS - 4 * HOUR_MS, NOW_MS)).toEqual([true, true])
  expect(keys.arePossible(NOW_MS + 20 * HOUR_MS)).toBe(false)
})

test('of gaps that are found at once, as at a start, none counts that has no keys', async () => {
  const keys = missing(NOW_MS - 6 * HOUR_MS)

  keys.onGap(NOW_MS - 3 * HOUR_MS, NOW_MS - 2 * HOUR_MS)
  keys.onGap(NOW_MS - HOUR_MS, NOW_MS)
  await new Promise(setImmediate)
  const without = keys.arePossible(NOW_MS)
  keys.onGap(0, NOW_MS - 5 * HOUR_MS)
  keys.onGap(NOW_MS - HOUR_MS, NOW_MS)
  await new Promise(setImmediate)

  const untilMs = NOW_MS - 5 * HOUR_MS + KEY_WINDOW_MS
  expect([without, keys.arePossible(untilMs - 1), keys.arePossible(untilMs)]).toEqual([false, true, false])
})
