import { randomUUID } from 'node:crypto'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { unseal } from '../../internal/secrets/seal.js'
import { launchGateway, postTo, wireEvent } from '../support/gateway.js'
import { command } from '../support/instance.js'
import { type Launched, launch } from '../support/processes.js'
import { launchService, natsServerBin, privateDataDir, type RunningService, UP_MAIN } from '../support/service.js'

let service: RunningService
let second: { process: Launched; baseUrl: string }
let stopped = false

const launchSecond = async () => {
  const port = await freePort()
  return { process: await launchGateway(service, port), baseUrl: `http://127.0.0.1:${port}` }
}

beforeAll(async () => {
  service = await launchService({ roles: [] })
  second = await launchSecond()
})

afterAll(async () => {
  if (stopped) return
  await second.process.kill('SIGTERM')
  await service.stop()
})

const masterKeyFile = (dataDir: string): string => join(dataDir, 'master.key')

/** Every sealed value that lies anywhere in a folder, in whatever file. */
function sealedValuesIn(folder: string): { readonly context: string; readonly sealed: string }[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.flatMap((entry) => {
    const text = readFileSync(join(entry.parentPath, entry.name), 'latin1')
    return [...text.matchAll(/sealed\.[\w-]{8}\.([\w-]*)\.[\w-]{38,}/g)].map(([sealed, name = '']) => ({
      context: Buffer.from(name, 'base64url').toString(),
      sealed,
    }))
  })
}

test('a rotation under traffic loses no request and leaves no value that the old key decrypts', async () => {
  const { api_key: apiKey } = service.credentials
  const oldKeyText = readFileSync(masterKeyFile(service.dataDir), 'utf8')
  const statuses: number[] = []
  let isRotating = true
  const send = async (baseUrl: string): Promise<void> => {
    while (isRotating) {
      const body = JSON.stringify(wireEvent())
      statuses.push((await postTo(`${baseUrl}/api/v1/invocations`, apiKey, body, randomUUID())).status)
    }
  }
  const sending = [send(service.baseUrl), send(second.baseUrl)]
  const listed = await fetch(`${service.baseUrl}/v1/attribution?limit=1`, { headers: { 'x-api-key': apiKey } })
  expect(listed.status).toBe(200)
  const before = sealedValuesIn(join(service.dataDir, 'nats'))

  const rotated = await command(service, ['master-key', 'rotate', '--drop-old'])
  isRotating = false
  await Promise.all(sending)

  expect([rotated.code, rotated.lines]).toEqual([0, [expect.stringMatching(/^re-encrypted [1-9]\d* secrets with key/)]])
  expect(statuses.length).toBeGreaterThan(10)
  expect(new Set(statuses)).toEqual(new Set([202]))
  expect(readFileSync(masterKeyFile(service.dataDir), 'utf8')).not.toContain(oldKeyText.trim())

  // A gateway that starts now opens what it needs by the new key.
  await second.process.kill('SIGTERM')
  second = await launchSecond()
  const answer = await postTo(`${second.baseUrl}/api/v1/invocations`, apiKey, JSON.stringify(wireEvent()), randomUUID())
  expect(answer.status).toBe(202)
  while (!(await command(service, ['audit', 'verify', '--instance'])).lines.join().includes('1 records'))
    await sleep(50)

  await second.process.kill('SIGTERM')
  await service.stop()
  stopped = true
  const copy = privateDataDir()
  cpSync(service.dataDir, copy, { recursive: true })
  writeFileSync(masterKeyFile(copy), oldKeyText)
  const oldKeys = readMasterKeys({ masterKey: '', masterKeyFile: masterKeyFile(copy) })
  const after = sealedValuesIn(copy)

  // With the old key the values of before opened, and none of those that there are now does.
  const opens = (context: string, sealed: string): boolean => {
    try {
      return unseal(oldKeys, context, sealed).length > 0
    } catch {
      return false
    }
  }
  // The bytes behind a value in a file may look like more of it.
  const opened = (values: typeof before) =>
    values.filter(({ context, sealed }) =>
      Array.from({ length: 9 }, (_, cut) => sealed.slice(0, sealed.length - cut)).some((text) => opens(context, text)),
    )
  expect(opened(before)).toHaveLength(before.length)
  expect(before.length).toBeGreaterThan(0)
  expect(after.length).toBeGreaterThan(0)
  expect(opened(after)).toEqual([])
  const stranger = launch(UP_MAIN, {
    args: [
      '--data-dir',
      copy,
      '--port',
      String(await freePort()),
      '--intake-port',
      '0',
      '--nats-server-bin',
      natsServerBin(),
    ],
  })
  expect((await stranger.exited).code).toBe(1)
  expect(stranger.lines.join('\n')).toContain('does not open with this master key')

  // The folder itself goes on under its new key.
  service = await launchService({ roles: [], dataDir: service.dataDir })
  stopped = false
  second = await launchSecond()
  const again = await fetch(`${service.baseUrl}/v1/attribution?limit=1`, { headers: { 'x-api-key': apiKey } })
  expect(again.status).toBe(200)
})

test('without --drop-old the previous key stays valid for a day', async () => {
  const [before = ''] = readFileSync(masterKeyFile(service.dataDir), 'utf8').split('\n')
  const { code } = await command(service, ['master-key', 'rotate'])
  const [after = '', replaced = '', ...rest] = readFileSync(masterKeyFile(service.dataDir), 'utf8')
    .trimEnd()
    .split('\n')

  expect(code).toBe(0)
  expect(after).not.toBe(before)
  expect(rest).toEqual([])
  const [text, until, instant = ''] = replaced.split(' ')
  expect([text, until]).toEqual([before, 'until'])
  expect(Date.parse(instant) - Date.now()).toBeGreaterThan(23 * 60 * 60 * 1000)
})
