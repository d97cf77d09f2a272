import { expect, test } from 'vitest'
import { launch } from '../support/processes.js'
import { drawn } from '../support/run/rings.js'

/**
 * Simulated histories of gateways that share Idempotency-Keys by the stream KEYS (`test/support/simulated-keys.ts`).
 *
 * `ATTRIBUTION_TEST_KEY_HISTORIES=10000 npm test -- test/faults/simulated-keys.test.ts` runs as many. A failure names
 * its seed: `node dist/test/support/simulated-keys.js <seed> 1` repeats it.
 */
const HISTORIES = Number(process.env['ATTRIBUTION_TEST_KEY_HISTORIES'] ?? drawn(40))

async function failuresOf(histories: number, ...breakage: string[]): Promise<readonly string[]> {
  const simulated = launch('dist/test/support/simulated-keys.js', { args: ['0', String(histories), ...breakage] })
  expect(await simulated.exited).toEqual({ code: 0, signal: null })
  return simulated.lines
}

test(
  'each 202 is in the log, and every gateway knows every key, whatever fails, and after any start',
  async () => {
    expect(await failuresOf(HISTORIES)).toEqual([])
  },
  24 * 60 * 60 * 1_000,
)

test.each([
  'keys before their group',
  'an answer before its keys',
  'keys are not spooled',
  'a start at the end of the stream',
  'nobody asks for keys that KEYS lost',
])('a build that is broken on purpose is found: %s', async (breakage) => {
  const [found] = await failuresOf(40, breakage)

  console.log(`${breakage}: ${found}`)
  expect(found).toMatch(/^seed \d+: (gw-\d+: |[0-9a-f-]{36} was answered)/)
})
