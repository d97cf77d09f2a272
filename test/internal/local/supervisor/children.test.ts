import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type Role, Supervisor } from '../../../../internal/local/supervisor/children.js'
import { START_AGAIN } from '../../../../internal/process/exit-codes.js'

const logsDir = mkdtempSync(join(tmpdir(), 'attribution-children-'))
afterAll(() => rmSync(logsDir, { recursive: true }))

/** A role that runs a script until its stdin closes. */
const role = (name: string, script: string): Role => ({
  name,
  command: process.execPath,
  args: ['-e', `${script}; process.stdin.on('end', () => process.exit()).resume()`],
  env: {},
  ready: async () => undefined,
})

test('what a role has for the terminal is printed, and nothing else that it sends', async () => {
  const printed: string[] = []
  const supervisor = new Supervisor({ logsDir, print: (line) => printed.push(line), onChange: () => undefined })

  await supervisor.startAll([
    role(
      'one',
      `process.send({ other: 'thing' }); process.send('text'); process.send({ notice: 'the log is 76 % full' })`,
    ),
  ])

  await expect.poll(() => printed).toEqual(['the log is 76 % full'])
  await supervisor.stop()
  expect(printed).toEqual(['the log is 76 % full'])
})

test('a role that asks for it is started again at once, also at its first start', async () => {
  const counter = join(logsDir, 'starts')
  const supervisor = new Supervisor({ logsDir, print: () => undefined, onChange: () => undefined })
  const script = `const fs = require('fs'); fs.appendFileSync(${JSON.stringify(counter)}, 'x');
    if (fs.readFileSync(${JSON.stringify(counter)}).length < 3) process.exit(${START_AGAIN}); console.log('ready')`
  const ready = async (): Promise<void> => {
    await expect.poll(() => readFileSync(counter, 'utf8')).toBe('xxx')
  }

  await supervisor.startAll([{ ...role('again', script), ready }])

  expect(readFileSync(join(logsDir, 'again.log'), 'utf8')).toContain('ready')
  await supervisor.stop()
})

test('a role that ends at its first start for another reason is not', async () => {
  const supervisor = new Supervisor({ logsDir, print: () => undefined, onChange: () => undefined })
  const never = (): Promise<void> => new Promise(() => undefined)
  const started = supervisor.startAll([{ ...role('ends', `console.log('no port'); process.exit(1)`), ready: never }])

  await expect(started).rejects.toThrow('no port')
  await supervisor.stop()
})
