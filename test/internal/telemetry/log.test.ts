import { expect, test } from 'vitest'
import { createLog, type LogFormat, RepeatedLines } from '../../../internal/telemetry/log.js'

/** A log and the lines that it wrote. */
function logInto(format: LogFormat) {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  return { lines, log: createLog('gateway', 'info', { version: '1.2.3', format, destination }) }
}

test('a line of JSON has its level as a word, the role and the version, and never content or a secret', () => {
  const { lines, log } = logInto('json')
  log.warn({ status: 401, prompt: 'canary', deep: { password: 'canary', id: 7 } }, 'request refused')

  expect(lines).toHaveLength(1)
  expect(lines[0]).not.toContain('canary')
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    role: 'gateway',
    version: '1.2.3',
    pid: process.pid,
    status: 401,
    deep: { id: 7 },
    msg: 'request refused',
  })
})

test('a line of text has the time, the level, the role, the message and what belongs to it', () => {
  const { lines, log } = logInto('text')
  log.warn({ status: 401, error_code: 'UNAUTHENTICATED', prompt: 'canary' }, 'request refused')

  expect(lines.join('')).toMatch(
    /^\d\d:\d\d:\d\d\.\d{3} WARN {2}gateway request refused {2}status=401 {2}error_code=UNAUTHENTICATED\n$/,
  )
})

test('a value of several lines stays on its own line of text, and the stack of an error is below it', () => {
  const { lines, log } = logInto('text')
  log.error({ err: new Error('one\ntwo'), name: 'a\r\n12:00:00.000 INFO gateway forged' }, 'failed')

  const [first, ...others] = lines.join('').trimEnd().split('\n')
  expect(first).toContain('failed  name=a 12:00:00.000 INFO gateway forged')
  expect(others.length).toBeGreaterThan(1)
  expect(others.every((line) => line.startsWith('    '))).toBe(true)
  expect(others[0]).toContain('one')
})

test('at no terminal the format is JSON unless it is set', () => {
  const { lines, log } = logInto('auto')
  log.info('hello')

  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'info', msg: 'hello' })
})

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
