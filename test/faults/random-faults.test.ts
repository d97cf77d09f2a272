/**
 * Faults by a seed, on the whole product. `npm run test:faults` runs it for ten minutes; in the suite it takes one.
 * ATTRIBUTION_FAULTS_SEED repeats a run.
 */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { runFaults } from '../support/faults/run.js'

const { env } = process
const seed = env['ATTRIBUTION_FAULTS_SEED'] ?? randomBytes(4).toString('hex')
const minutes = Number(env['ATTRIBUTION_FAULTS_MINUTES'] ?? 0.5)
const isLong = minutes > 1

test('whatever fails, each 202 is one record, totals are exact, webhooks arrive, tenants stay apart', async () => {
  console.log(`ATTRIBUTION_FAULTS_SEED=${seed} repeats this run`)
  const { violations, faults, accepted } = await runFaults({
    seed,
    durationMs: minutes * 60_000,
    eventsPerSecond: Number(env['ATTRIBUTION_FAULTS_RATE'] ?? (isLong ? 200 : 60)),
    gapMs: isLong ? [3_000, 11_000] : [1_500, 3_500],
    lengthMs: isLong ? [500, 10_000] : [500, 4_000],
    keepIn: env['ATTRIBUTION_FAULTS_KEEP'],
    print: (line) => process.stdout.write(`${line}\n`),
  })

  // All of them are printed above.
  expect(violations.slice(0, 3)).toEqual([])
  expect(faults).toBeGreaterThan(0)
  expect(accepted).toBeGreaterThan(0)
}, 1_800_000)
