import { expect, test } from 'vitest'
import { createLog } from '../../../internal/telemetry/log.js'
import { RepeatedLines } from '../../../internal/telemetry/repeated-lines.js'

function lines() {
  let nowMs = 0
  const repeated = new RepeatedLines(() => nowMs)
  return { repeated, pass: (ms: number): number => (nowMs += ms) }
}

test('of a failure that goes on, three lines are logged, then one a minute with the number of those left out', () => {
  const { repeated, pass } = lines()
  const logged: number[] = []
  for (let i = 0; i < 600; i++) {
    const leftOut = repeated.leftOut('the broker does not answer')
    if (leftOut !== undefined) logged.push(leftOut)
    pass(500)
  }

  // Five minutes, twice a second.
  expect(logged).toEqual([0, 0, 0, 117, 119, 119, 119])
})

test('other kinds are logged meanwhile, and a failure after a quiet minute is a new one', () => {
  const { repeated, pass } = lines()
  for (let i = 0; i < 5; i++) repeated.leftOut('one')
  expect(repeated.leftOut('one')).toBeUndefined()
  expect(repeated.leftOut('other')).toBe(0)

  pass(60_000)
  expect(repeated.leftOut('one')).toBe(3)
  pass(60_000)
  expect([repeated.leftOut('one'), repeated.leftOut('one')]).toEqual([0, 0])
})

test('a log leaves out repeated errors, and nothing else', () => {
  const written: Record<string, unknown>[] = []
  const log = createLog('test', 'info', {
    format: 'json',
    destination: { write: (line) => written.push(JSON.parse(line)) },
  })
  for (let i = 0; i < 10; i++) {
    log.warn({ err: new Error('timeout'), checkpoint: `a.${i}` }, 'could not finish a batch; will retry')
    log.warn({ route: '/v1/attribution', status: 503 }, 'a request was refused')
    log.info('done')
  }
  log.warn({ err: new Error('full') }, 'could not finish a batch; will retry')

  const counts = new Map<unknown, number>()
  for (const { msg } of written) counts.set(msg, (counts.get(msg) ?? 0) + 1)
  expect(Object.fromEntries(counts)).toEqual({
    'could not finish a batch; will retry': 4,
    'a request was refused': 10,
    done: 10,
  })
  expect(written.find(({ checkpoint }) => checkpoint === 'a.0')).toMatchObject({ err: { message: 'timeout' } })
})
