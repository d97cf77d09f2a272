import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { isAlive } from '../support/alive.js'
import { launch } from '../support/processes.js'
import { launchService, natsServerBin, privateDataDir, type RunningService, UP_MAIN } from '../support/service.js'

let original: RunningService
beforeAll(async () => {
  original = await launchService({ roles: [] })
})
afterAll(() => original.stop())

const argsOf = async (dataDir: string): Promise<string[]> => [
  ...[
    '--data-dir',
    dataDir,
    '--port',
    String(await freePort()),
    '--intake-port',
    '0',
    '--nats-server-bin',
    natsServerBin(),
  ],
  ...['--without-roles', 'courier,exporter,sentinel,trainer'],
]
/** As an operator would, sockets too. Parts of the store that vanish meanwhile are left out, with an error. */
const copyAll = (from: string, to: string): void => void spawnSync('cp', ['-a', `${from}/.`, to])
const pids = (): number[] => ['up', 'nats', 'store', 'gateway', 'attributor'].map((role) => original.pid(role))
const ready = async (): Promise<number> => (await fetch(`${original.baseUrl}/readyz`)).status

test('a copy of a live folder says how to back up, and leaves the original untouched', async () => {
  const copy = privateDataDir()
  copyAll(original.dataDir, copy)
  const before = pids()

  const refused = launch(UP_MAIN, { args: await argsOf(copy) })

  expect((await refused.exited).code).not.toBe(0)
  const said = refused.lines.join('\n')
  expect(said).toContain(`is a copy of ${original.dataDir}`)
  expect(said).toContain('stop that instance, copy the folder')
  expect(said).not.toContain('in use by process')
  expect(pids()).toEqual(before)
  expect(before.every(isAlive)).toBe(true)
  expect(await ready()).toBe(200)
})

test('a copy with its run file removed starts on another port beside the original', async () => {
  const copy = privateDataDir()
  copyAll(original.dataDir, copy)
  // The pid file of the broker is in the copy: it names the original's.
  expect(existsSync(join(copy, 'nats', 'nats-server.pid'))).toBe(true)
  rmSync(join(copy, 'run.json'))
  const before = pids()

  const beside = launch(UP_MAIN, { args: await argsOf(copy) })
  await beside.line(/is ready/)
  await beside.kill('SIGTERM')

  expect(pids()).toEqual(before)
  expect(before.every(isAlive)).toBe(true)
  expect(await ready()).toBe(200)
})

test('a folder copied while its instance was stopped starts; its run file of another folder is ignored', async () => {
  await original.stop()
  const copy = privateDataDir()
  copyAll(original.dataDir, copy)
  expect(JSON.parse(readFileSync(join(copy, 'run.json'), 'utf8'))).toMatchObject({ folder: original.dataDir })

  const backup = await launchService({ roles: [], dataDir: copy })

  expect((await fetch(`${backup.baseUrl}/readyz`)).status).toBe(200)
  await backup.stop()
})
