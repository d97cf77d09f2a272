import { expect, test } from 'vitest'
import { launch } from '../support/processes.js'
import { drawn } from '../support/run/rings.js'

/**
 * Simulated histories of a planned log (`test/support/simulated-log.ts`).
 *
 * `ATTRIBUTION_TEST_HISTORIES=100000 npm test -- test/faults/simulated-log.test.ts` runs as many. A failure names its
 * seed: `node dist/test/support/simulated-log.js <seed> 1` repeats it.
 */
const HISTORIES = Number(process.env['ATTRIBUTION_TEST_HISTORIES'] ?? drawn(1_000))

async function failuresOf(histories: number, ...breakage: string[]): Promise<readonly string[]> {
  const simulated = launch('dist/test/support/simulated-log.js', { args: ['0', String(histories), ...breakage] })
  expect(await simulated.exited).toEqual({ code: 0, signal: null })
  return simulated.lines
}

test(
  'each message takes effect once, and each snapshot stays as it was, whatever dies, stalls or gets lost',
  async () => {
    expect(await failuresOf(HISTORIES)).toEqual([])
  },
  24 * 60 * 60 * 1_000,
)

test.each(['no token', 'done before it is stored', 'a stored row means all'])(
  'a build that is broken on purpose is found: %s',
  async (breakage) => {
    const [found] = await failuresOf(500, breakage)

    console.log(`${breakage}: ${found}`)
    expect(found).toMatch(/^seed \d+: (message \d+ is stored \d+ times|a snapshot)/)
  },
)
