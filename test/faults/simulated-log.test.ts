import { beforeAll, expect, test } from 'vitest'
import { RUNS_BOTH_RINGS } from '../support/run/rings.js'
import { failuresOf } from '../support/simulate.js'

/**
 * Simulated histories of a planned log (`test/support/simulated-log.ts`).
 *
 * `ATTRIBUTION_TEST_HISTORIES=100000 npm test -- test/faults/simulated-log.test.ts` runs as many. A failure names its
 * seed: `node dist/test/support/simulated-log.js <seed> 1` repeats it.
 */
const HISTORIES = Number(process.env['ATTRIBUTION_TEST_HISTORIES'] ?? (RUNS_BOTH_RINGS ? 1_000 : 100))

/** Each is found by one of the first five histories. */
const BREAKAGES = ['no token', 'done before it is stored', 'a stored row means all'] as const

let broken: readonly string[]
beforeAll(async () => {
  broken = await failuresOf('simulated-log', ...BREAKAGES.map((breakage) => [0, 500, breakage] as const))
})

test(
  'each message takes effect once, and each snapshot stays as it was, whatever dies, stalls or gets lost',
  async () => {
    expect(await failuresOf('simulated-log', [0, HISTORIES])).toEqual([])
  },
  24 * 60 * 60 * 1_000,
)

test.each(BREAKAGES)('a build that is broken on purpose is found: %s', (breakage) => {
  const found = broken.find((line) => line.startsWith(`${breakage}: `))

  console.log(found)
  expect(found).toMatch(/: seed \d+: (message \d+ is stored \d+ times|a snapshot)/)
})
