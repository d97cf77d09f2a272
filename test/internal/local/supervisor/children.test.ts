import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type Role, Supervisor } from '../../../../internal/local/supervisor/children.js'

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
