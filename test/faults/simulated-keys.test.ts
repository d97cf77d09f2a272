import { beforeAll, expect, test } from 'vitest'
import { drawn, RUNS_BOTH_RINGS } from '../support/run/rings.js'
import { failuresOf } from '../support/simulate.js'

/**
 * Simulated histories of gateways that share Idempotency-Keys by the stream KEYS (`test/support/simulated-keys.ts`).
 *
 * `ATTRIBUTION_TEST_KEY_HISTORIES=10000 npm test -- test/faults/simulated-keys.test.ts` runs as many. A failure names
 * its seed: `node dist/test/support/simulated-keys.js <seed> 1` repeats it.
 */
const HISTORIES = Number(process.env['ATTRIBUTION_TEST_KEY_HISTORIES'] ?? drawn(40))

/** Each with the first seed that finds it, with which the inner ring begins. */
const BREAKAGES = [
  ['keys before their group', 65],
  ['an answer before its keys', 0],
  ['keys are not spooled', 6],
  ['a start at the end of the stream', 0],
  ['the end of the log is not read', 15],
  ['nobody asks for keys that KEYS lost', 0],
] as const

let broken: readonly string[]
beforeAll(async () => {
  const runs = BREAKAGES.map(([breakage, seed]) => [RUNS_BOTH_RINGS ? 0 : seed, 60, breakage] as const)
  broken = await failuresOf('simulated-keys', ...runs)
})

test(
  'each 202 is in the log, and every gateway knows every key, whatever fails, and after any start',
  async () => {
    expect(await failuresOf('simulated-keys', [0, HISTORIES])).toEqual([])
  },
  24 * 60 * 60 * 1_000,
)

test.each(BREAKAGES)('a build that is broken on purpose is found: %s', (breakage) => {
  const found = broken.find((line) => line.startsWith(`${breakage}: `))

  console.log(found)
  expect(found).toMatch(/: seed \d+: (gw-\d+: |[0-9a-f-]{36} was answered)/)
})
