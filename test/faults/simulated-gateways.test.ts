import { expect, test } from 'vitest'
import { launch } from '../support/processes.js'

/**
 * Simulated histories of gateways that share keys and event ids (`test/support/simulated-gateways.ts`).
 *
 * `ATTRIBUTION_TEST_GATEWAY_HISTORIES=10000 npm test -- test/faults/simulated-gateways.test.ts` runs as many. A failure
 * names its seed: `node dist/test/support/simulated-gateways.js <seed> 1` repeats it.
 */
const HISTORIES = Number(process.env['ATTRIBUTION_TEST_GATEWAY_HISTORIES'] ?? 12)

async function failuresOf(first: number, histories: number, ...breakage: string[]): Promise<readonly string[]> {
  const simulated = launch('dist/test/support/simulated-gateways.js', {
    args: [String(first), String(histories), ...breakage],
  })
  expect(await simulated.exited).toEqual({ code: 0, signal: null })
  return simulated.lines
}

test(
  'each 202 is in the log, no event has two records, every gateway knows every key, whatever fails',
  async () => {
    expect(await failuresOf(0, HISTORIES)).toEqual([])
  },
  24 * 60 * 60 * 1_000,
)

// From a seed on that finds it soon.
test.each([
  ['late events are not announced', 6],
  ['a spool is delivered in silence', 24],
  ['an unsure event counts as new', 45],
  ['shares are not loaded', 0],
])('a build that is broken on purpose is found: %s', async (breakage, first) => {
  const [found] = await failuresOf(first, 60, breakage)

  console.log(`${breakage}: ${found}`)
  expect(found).toMatch(/^seed \d+: (event|gw-\d+: )/)
})
