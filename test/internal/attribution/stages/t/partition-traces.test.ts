import { expect, test } from 'vitest'
import { launch } from '../../../../support/processes.js'

/** Bytes each, and what the last trace says. */
interface Measured {
  readonly trace: number
  readonly openEvent: number
  readonly correlation: unknown
}

test('a trace takes 400 bytes, an open event 350, and neither keeps its message in memory', async () => {
  const measuring = launch('dist/test/support/trace-memory.js')
  const { trace, openEvent, correlation } = JSON.parse(await measuring.line(/^\{/)) as Measured
  await measuring.exited

  // The trace names were allocated before: 120 bytes each. The heap differs by some percent from run to run.
  expect(trace).toBeLessThan(1.1 * 400 - 120)
  expect(openEvent).toBeLessThan(1.1 * 350)
  expect(correlation).toMatchObject({ service: 'search' })
})
