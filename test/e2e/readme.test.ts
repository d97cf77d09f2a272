import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchService, type RunningService } from '../support/service.js'

const README = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8')
const run = promisify(execFile)

let service: RunningService

beforeAll(async () => {
  service = await launchService()
})

afterAll(() => service.stop())

/** Commands of the walk-through, each with the output that the README shows beneath it. */
const steps = [...README.matchAll(/```sh\n([^`]*curl[^`]*)```\n+```json\n([^`]*)```/g)].map(
  ([, command = '', shown = '']) => ({
    command,
    shown: JSON.parse(shown) as unknown,
  }),
)

/** Ids and times differ from one instance to the next; all else must be as shown. */
const withoutIdsAndTimes = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/(inv|attr)_[0-9a-z]{26}/g, '$1_')
      .replaceAll(/"(since|materialized_at)":"[^"]*"/g, '"$1":""'),
  )

test('the walk-through works to the letter, and prints what it shows', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'attribution-readme-'))
  symlinkSync(service.dataDir, join(folder, '.data'))
  const script = (command: string): string =>
    `${README.match(/^export API_KEY=.*$/m)?.[0]}\n${command}`.replaceAll('127.0.0.1:8080', `127.0.0.1:${service.port}`)

  expect(steps.length).toBe(4)
  for (const { command, shown } of steps) {
    // Half a second later, says the README: the record is waited for.
    for (let output: unknown; ; await sleep(50)) {
      output = JSON.parse((await run('bash', ['-c', script(command)], { cwd: folder })).stdout)
      if (JSON.stringify(output).includes('"data":[]')) continue
      expect(withoutIdsAndTimes(output)).toEqual(withoutIdsAndTimes(shown))
      break
    }
  }
})
