import { createHash, randomUUID } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectService, type ReplayedRecord } from '../../internal/local/replay/client.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributed } from '../support/attributed.js'
import { wireEvent } from '../support/gateway.js'
import { CLI_MAIN } from '../support/instance.js'
import { launch } from '../support/processes.js'
import { launchReceiver, RECEIVER_CERTIFICATE, type Receiver } from '../support/receiver.js'
import { launchService, natsServerBin, privateDataDir, type RunningService, UP_MAIN } from '../support/service.js'
import { allRecords } from '../support/trace.js'

/**
 * The drill: under load, back up, kill everything, restore elsewhere; totals equal to the digit, and new events flow.
 */

const PASSPHRASE = 'correct horse battery staple'
const place = join(privateDataDir(), 'backups')
const restoredFolder = join(privateDataDir(), 'restored')

let receiver: Receiver
let args: readonly string[]
let service: RunningService
/** Of the instance that was killed. */
let oldFolder: string
let ask: Ask

beforeAll(async () => {
  const receiverPort = await freePort()
  receiver = await launchReceiver({ port: receiverPort })
  receiver.answer = (response, { json }) => {
    const { challenge } = json.data
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(challenge === undefined ? '' : JSON.stringify({ challenge }))
  }
  const caFile = join(mkdtempSync(join(tmpdir(), 'attribution-ca-')), 'ca.pem')
  writeFileSync(caFile, RECEIVER_CERTIFICATE.cert)
  args = [
    ...['--webhook-allowed-networks', '127.0.0.0/8', '--webhook-ports', String(receiverPort)],
    ...['--webhook-ca-file', caFile, '--rate-read', '100000', '--rate-control', '1000'],
  ]
  service = await launchService({ roles: ['courier'], args })
  ask = askOf(service)
})
afterAll(async () => {
  await service.stop()
  await receiver.close()
})

const askOf = ({ baseUrl, credentials }: RunningService): Ask => askAs(baseUrl, { 'x-api-key': credentials.api_key })

async function backup(args: readonly string[], passphrase: string | undefined = PASSPHRASE) {
  const launched = launch(CLI_MAIN, {
    args: ['backup', ...args],
    env: passphrase === '' ? {} : { ATTRIBUTION_BACKUP_PASSPHRASE: passphrase },
  })
  const { code } = await launched.exited
  return { code, said: launched.lines.join('\n') }
}
const create = () => backup(['create', '--data-dir', service.dataDir, '--to', place, '--json'])
const restoreTo = (folder: string, ...more: string[]) =>
  backup(['restore', '--from', place, '--to', folder, '--nats-server-bin', natsServerBin(), ...more])

async function recordsOf({ baseUrl, credentials }: RunningService): Promise<ReplayedRecord[]> {
  const client = connectService(baseUrl, credentials.api_key, 1)
  return allRecords(client).finally(() => client.close())
}
const idOf = ({ invocation_id }: { readonly invocation_id: string }): string => invocation_id.replace('inv_', 'attr_')

/**
 * Sends events, some of one workflow, until told to stop. @returns the ids of those that were accepted, with the time
 * of each
 */
function startLoad() {
  const accepted = new Map<string, number>()
  let isOver = false
  const sender = async (name: number): Promise<void> => {
    for (let i = 0; !isOver; i++) {
      const stated = i % 3 === 0 ? { attributed_service: undefined } : {}
      const event = wireEvent({ ...stated, trace_id: `workflow-${name}-${i % 7}` })
      const { status, json } = await ask('POST', '/api/v1/invocations', event)
      if (status === 202) accepted.set(idOf(json), Date.now())
    }
  }
  const senders = Promise.all([1, 2, 3, 4].map(sender))
  return {
    accepted,
    async stop() {
      isOver = true
      await senders
    },
  }
}

const OCTOBER = '/v1/reports/usage?from=2026-10-01T00:00:00Z&to=2026-11-01T00:00:00Z&group_by=service,owner'
const totalsOf = async (of: Ask) => (await of('GET', OCTOBER)).json.data
/** Nothing of it changes any more: the load is of November. */
const october = (stated: object) => ({ ingestion_timestamp: '2026-10-07T08:00:00Z', ...stated })

const PERSON = 'grace.hopper@example.com'
const statusOf = async ({ secret }: { secret: string }): Promise<number> =>
  (await askAs(service.baseUrl, { 'x-api-key': secret })('GET', '/v1/attribution?limit=1')).status
const newKey = async (): Promise<{ id: string; secret: string }> => {
  const { status, json } = await ask('POST', '/api/v1/api-keys', { name: 'of a program', scopes: ['read:attribution'] })
  expect(status, JSON.stringify(json)).toBe(201)
  return json
}

const key = randomUUID()
const repeated = wireEvent(october({}))
let first: string
let overridden: string
let bearer: Record<string, string>
let ofPerson: string
let revoked: { id: string; secret: string }
let madeLater: { id: string; secret: string }
/**
 * Records of calls that were sent after the last backup: one that a person corrected, one of the person who was erased.
 */
let overriddenLater: string
let ofPersonLater: string
let accepted: Map<string, number>
let consistentMs: number

async function tokenOf({ baseUrl, credentials }: RunningService): Promise<string> {
  const answer = await fetch(`${baseUrl}/v1/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: credentials.client_id,
      client_secret: credentials.client_secret,
    }),
  })
  return ((await answer.json()) as { access_token: string }).access_token
}

test('a backup is made of a running instance under load, and a second one only of what is new', async () => {
  const hook = await ask('POST', '/api/v1/webhooks', {
    url: `https://127.0.0.1:${receiver.port}/hook`,
    events: ['budget.threshold.crossed'],
  })
  while ((await ask('GET', `/api/v1/webhooks/${hook.json.id}`)).json.status !== 'verified') await sleep(50)
  const budget = await ask('POST', '/api/v1/budgets', { name: 'all', ceiling_usd: '1000' })
  await ask('POST', `/api/v1/budgets/${budget.json.id}/test`, {})
  await receiver.until(1, ({ json }) => json.type === 'budget.threshold.crossed')
  await ask('POST', '/api/v1/directory/services', { name: 'search', owner: 'team-search' })
  for (let i = 0; i < 40; i++) {
    await attributed(ask, october({ attributed_service: `service-${i % 3}`, estimated_cost_usd: `0.0${i}1` }))
  }
  const person = await attributed(ask, october({ attributed_service: 'notebook', attributed_identity: PERSON }))
  expect(person.owner).toBe(PERSON)
  ofPerson = person.id
  revoked = await newKey()
  expect(await statusOf(revoked)).toBe(200)
  overridden = (await attributed(ask, october({ attributed_service: 'wrong' }))).id
  const override = { service: 'right', owner: 'team-right', reason: 'It was theirs.' }
  expect((await ask('POST', `/v1/attribution/${overridden}/override`, override)).status).toBeLessThan(300)
  while ((await ask('GET', `/v1/attribution/${overridden}`)).json.service !== 'right') await sleep(50)
  expect((await ask('POST', '/api/v1/invocations', repeated, { 'idempotency-key': key })).status).toBe(202)
  bearer = { authorization: `Bearer ${await tokenOf(service)}` }
  expect((await askAs(service.baseUrl, bearer)('GET', '/v1/attribution?limit=1')).status).toBe(200)

  const load = startLoad()
  while (load.accepted.size < 300) await sleep(20)
  const one = await create()
  expect(one).toMatchObject({ code: 0 })
  first = JSON.parse(one.said).id
  const atFirst = load.accepted.size
  const other = await create()
  expect(other).toMatchObject({ code: 0 })
  while (load.accepted.size < atFirst + 100) await sleep(20)
  await load.stop()
  accepted = load.accepted

  const { id, consistent_at: consistentAt, new_bytes: newBytes, bytes } = JSON.parse(other.said)
  consistentMs = Date.parse(consistentAt)
  expect(atFirst).toBeGreaterThan(300)
  expect(newBytes).toBeLessThan(bytes)
  const listed = await backup(['list', '--from', place, '--json'])
  expect(JSON.parse(listed.said).map((each: { id: string }) => each.id)).toEqual([first, id])
  expect(await backup(['verify', '--from', place])).toEqual({
    code: 0,
    said: `${id} is whole, and signed by its master key`,
  })
  expect(readdirSync(join(service.dataDir, 'store', 'data', 'shadow'))).toEqual(['increment.txt'])
})

test('two backups are not made at once', async () => {
  const both = await Promise.all([create(), create()])

  expect(both.map(({ code }) => code).sort()).toEqual([0, 1])
  expect(both.find(({ code }) => code === 1)?.said).toContain('make one at a time')
})

test('what is called, decided, revoked, made and erased after the last backup is not in it', async () => {
  await ask('POST', '/api/v1/directory/services', { name: 'later', owner: 'team-later' })
  expect(await attributed(ask, october({ attributed_service: 'later' }))).toMatchObject({ owner: 'team-later' })
  overriddenLater = (await attributed(ask, october({ attributed_service: 'wrong' }))).id
  const override = { service: 'right', owner: 'team-right', reason: 'It was theirs, too.' }
  expect((await ask('POST', `/v1/attribution/${overriddenLater}/override`, override)).status).toBeLessThan(300)
  while ((await ask('GET', `/v1/attribution/${overriddenLater}`)).json.service !== 'right') await sleep(50)
  const later = await attributed(ask, october({ attributed_service: 'notebook', attributed_identity: PERSON }))
  expect(later.owner).toBe(PERSON)
  ofPersonLater = later.id
  expect((await ask('DELETE', `/api/v1/api-keys/${revoked.id}`)).status).toBe(204)
  madeLater = await newKey()
  const erased = launch(CLI_MAIN, {
    args: [
      ...['erase-identity', '--tenant', service.credentials.tenant_id, '--identity', PERSON],
      ...['--data-dir', service.dataDir],
    ],
  })
  expect(await erased.exited).toMatchObject({ code: 0 })
  expect([await statusOf(revoked), await statusOf(madeLater)]).toEqual([401, 200])
  expect((await ask('GET', `/v1/attribution/${ofPerson}`)).json.owner).toBe('erased')
})

test('it is restored elsewhere after all was killed: equal to the digit, nothing lost, nothing doubled', async () => {
  const before = await totalsOf(ask)
  for (const role of ['up', 'gateway', 'attributor', 'courier', 'store', 'nats'])
    process.kill(service.pid(role), 'SIGKILL')
  await service.process.exited
  oldFolder = service.dataDir
  rmSync(join(oldFolder, 'store'), { recursive: true })
  const delivered = receiver.received.length

  const restored = await restoreTo(restoredFolder, '--changes-from', service.dataDir)
  expect(restored, restored.said).toMatchObject({ code: 0 })
  expect(restored.said).toContain('2 in api keys')
  expect(restored.said).toContain('1 erasures of people')
  service = await launchService({ dataDir: restoredFolder, roles: ['courier'], args })
  ask = askOf(service)

  const fresh = await attributed(ask, { attributed_service: 'search' })
  expect(fresh).toMatchObject({ service: 'search', owner: 'team-search' })
  expect(await totalsOf(ask)).toEqual(before)
  for (const id of [overridden, overriddenLater]) {
    const { json } = await ask('GET', `/v1/attribution/${id}`)
    expect(json).toMatchObject({ service: 'right', output_state: 'overridden' })
  }
  for (const id of [ofPerson, ofPersonLater]) {
    expect((await ask('GET', `/v1/attribution/${id}`)).json.owner).toBe('erased')
  }
  expect([await statusOf(revoked), await statusOf(madeLater)]).toEqual([401, 200])

  expect([...accepted.values()].filter((atMs) => atMs < consistentMs).length).toBeGreaterThan(200)
  expect([...accepted.values()].filter((atMs) => atMs > consistentMs).length).toBeGreaterThan(50)
  const ids = (await recordsOf(service)).map(({ id }) => id)
  expect([...accepted.keys()].filter((id) => !ids.includes(id))).toEqual([])
  expect(new Set(ids).size).toBe(ids.length)
  const [all] = (await ask('GET', '/v1/reports/usage?from=2026-10-01T00:00:00Z')).json.data
  expect(all.calls).toBe(ids.length)

  // Only what is sent now arrives: the budget's event was delivered before.
  await ask('POST', `/api/v1/budgets/${(await ask('GET', '/api/v1/budgets')).json.data[0].id}/test`, {})
  while (receiver.received.length === delivered) await sleep(50)
  await sleep(500)
  expect(receiver.received.slice(delivered).map(({ json }) => json.type)).toEqual(['budget.threshold.crossed'])
})

test('ids and Idempotency-Keys are remembered, the audit log is whole, and sessions have ended', async () => {
  const before = (await recordsOf(service)).length
  const again = await ask('POST', '/api/v1/invocations', repeated, { 'idempotency-key': key })
  const other = await ask('POST', '/api/v1/invocations', repeated)
  const different = await ask('POST', '/api/v1/invocations', wireEvent(), { 'idempotency-key': key })

  expect([again.status, other.status, different.status]).toEqual([202, 202, 422])
  await attributed(ask, { attributed_service: 'search' })
  expect(await recordsOf(service)).toHaveLength(before + 1)
  expect((await askAs(service.baseUrl, bearer)('GET', '/v1/attribution?limit=1')).status).toBe(401)
  const actions = (await ask('GET', '/api/v1/audit-log?limit=200')).json.data
  expect(actions).toContainEqual(expect.objectContaining({ target: madeLater.id }))
  const verified = launch(CLI_MAIN, {
    args: ['audit', 'verify', '--tenant', service.credentials.tenant_id, '--data-dir', service.dataDir],
  })
  expect([(await verified.exited).code, verified.lines.join('\n')]).toEqual([0, expect.stringContaining('records')])
})

test('a backup that is killed leaves the instance at work, and nothing that the next one does not remove', async () => {
  const shadow = join(service.dataDir, 'store', 'data', 'shadow')
  const frozen = () => (existsSync(shadow) ? readdirSync(shadow).filter((name) => name.startsWith('backup_')) : [])
  const killed = launch(CLI_MAIN, { args: ['backup', 'create', '--data-dir', service.dataDir, '--to', place] })
  while (frozen().length === 0) await sleep(1)
  await killed.kill('SIGKILL')
  expect(frozen()).toHaveLength(1)

  expect(await attributed(ask, { attributed_service: 'search' })).toMatchObject({ service: 'search' })
  expect(await create()).toMatchObject({ code: 0 })
  expect(frozen()).toEqual([])
})

test('a restored instance is backed up in its turn; the oldest ones are removed with what only they had', async () => {
  await newKey()
  const third = await create()
  expect(third, third.said).toMatchObject({ code: 0 })
  const pruned = await backup(['prune', '--from', place, '--keep', '2'])

  expect(pruned.code).toBe(0)
  expect(pruned.said.split('\n')).toContain(`removed ${first}`)
  expect(readdirSync(place)).not.toContain(first)
  for (const { id } of JSON.parse((await backup(['list', '--from', place, '--json'])).said)) {
    expect(await backup(['verify', '--from', place, '--id', id])).toEqual({
      code: 0,
      said: `${id} is whole, and signed by its master key`,
    })
  }
})

test('a restore that is killed leaves a folder that does not start', async () => {
  const folder = join(privateDataDir(), 'half')
  const restoring = launch(CLI_MAIN, {
    args: ['backup', 'restore', '--from', place, '--to', folder, '--nats-server-bin', natsServerBin()],
    env: { ATTRIBUTION_BACKUP_PASSPHRASE: PASSPHRASE },
  })
  while (!existsSync(join(folder, 'store', 'data'))) await sleep(1)
  await restoring.kill('SIGKILL')

  const started = launch(UP_MAIN, { args: ['--data-dir', folder, '--nats-server-bin', natsServerBin()] })
  expect([(await started.exited).code, started.lines.join()]).toEqual([
    1,
    expect.stringContaining('has not ended: remove the folder'),
  ])
})

test('without a surviving folder, a restore lists what to repeat; it refuses one of another backup', async () => {
  const restored = await restoreTo(join(privateDataDir(), 'listed'))
  expect(restored, restored.said).toMatchObject({ code: 0 })
  expect(restored.said).toContain('erase the identities that were erased since')

  const running = await restoreTo(join(privateDataDir(), 'new'), '--changes-from', service.dataDir)
  expect(running).toMatchObject({ code: 1, said: expect.stringContaining('stop it first') })
  const empty = await restoreTo(join(privateDataDir(), 'new'), '--changes-from', privateDataDir())
  expect(empty).toMatchObject({ code: 1, said: expect.stringContaining('has no broker any more') })
  const older = await restoreTo(join(privateDataDir(), 'older'), '--changes-from', oldFolder)
  expect(older).toMatchObject({ code: 1, said: expect.stringContaining('is older than the backup') })
})

test('a restore refuses a folder that is in use, another passphrase, another key, and a damaged backup', async () => {
  const folder = () => join(privateDataDir(), 'new')
  expect(await restoreTo(restoredFolder)).toMatchObject({ code: 1, said: expect.stringContaining('is not empty') })
  const wrong = ['restore', '--from', place, '--to', folder(), '--nats-server-bin', natsServerBin()]
  expect(await backup(wrong, 'another')).toMatchObject({ code: 1, said: expect.stringContaining('does not open') })
  expect(await backup(wrong, '')).toMatchObject({ code: 1, said: expect.stringContaining('are sealed') })
  const otherKey = join(privateDataDir(), 'other.key')
  writeFileSync(otherKey, `${Buffer.alloc(32, 7).toString('base64url')}\n`)
  expect(await restoreTo(folder(), '--master-key-file', otherKey)).toMatchObject({
    code: 1,
    said: expect.stringContaining('not the master key of the backup'),
  })
  // As after a rotation: the newer key seals, the backup's opens.
  const own = readFileSync(join(service.dataDir, 'master.key'), 'utf8').trim()
  const both = `${readFileSync(otherKey, 'utf8')}${own} until 2100-01-01T00:00:00Z\n`
  writeFileSync(otherKey, both)
  const rotated = await restoreTo(folder(), '--master-key-file', otherKey)
  expect(rotated, rotated.said).toMatchObject({ code: 0 })

  const damaged = privateDataDir()
  cpSync(place, damaged, { recursive: true })
  // All of them: the newest backup need not have the first.
  for (const part of readdirSync(join(damaged, 'parts'))) truncateSync(join(damaged, 'parts', part, 'part'), 100)
  const verified = await backup(['verify', '--from', damaged])
  expect(verified).toMatchObject({ code: 1, said: expect.stringMatching(/parts\/\w+\/part is missing/) })
  const from = ['restore', '--from', damaged, '--to', folder(), '--nats-server-bin', natsServerBin()]
  expect(await backup(from)).toMatchObject({ code: 1 })
})

/** Copies the place, and has somebody without the master key change the newest backup: all digests are right again. */
function forged(change: (entry: Record<string, unknown>, files: Buffer) => Buffer): string {
  const folder = privateDataDir()
  cpSync(place, folder, { recursive: true })
  const write = (key: string, bytes: Buffer) => {
    writeFileSync(join(folder, key), bytes)
    return { key, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
  }
  const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'))
  const entry = index.backups.at(-1)
  const manifest = JSON.parse(readFileSync(join(folder, entry.manifest.key), 'utf8'))
  manifest.files = write(manifest.files.key, change(entry, readFileSync(join(folder, manifest.files.key))))
  entry.manifest = write(entry.manifest.key, Buffer.from(JSON.stringify(manifest)))
  write('index.json', Buffer.from(JSON.stringify(index)))
  return folder
}

/** A table that reads a file of the machine, among the files of a backup. */
function withPlantedTable(files: Buffer): Buffer {
  const end = files.indexOf(10)
  const list = JSON.parse(files.subarray(0, end).toString())
  const path = list.find(([each]: [string]) => each.endsWith('/settling.sql'))[0].replace('settling', 'planted')
  const table = Buffer.from(
    `ATTACH TABLE _ UUID '${randomUUID()}' (x String) ENGINE = File(LineAsString, '/etc/passwd')`,
  )
  const head = Buffer.from(`${JSON.stringify([...list, [path, table.length]])}\n`)
  return Buffer.concat([head, files.subarray(end + 1), table])
}

test('a backup that somebody else wrote or changed is refused, and no table of theirs is restored', async () => {
  const unsign = (entry: Record<string, unknown>) => void delete entry['signature']
  const from = (folder: string, ...more: string[]) => {
    const to = join(privateDataDir(), 'new')
    return backup(['restore', '--from', folder, '--to', to, '--nats-server-bin', natsServerBin(), ...more])
  }
  const changed = forged((_, files) => withPlantedTable(files))
  const stripped = forged((entry, files) => {
    unsign(entry)
    return withPlantedTable(files)
  })
  const ofOlderVersion = forged((entry, files) => {
    unsign(entry)
    return files
  })

  const verified = await backup(['verify', '--from', changed])
  const answers = [
    await from(changed),
    await from(changed, '--accept-unsigned'),
    await from(stripped),
    await from(stripped, '--accept-unsigned'),
    await from(ofOlderVersion),
  ]

  const said = (text: string) => ({ code: 1, said: expect.stringContaining(text) })
  expect(verified).toMatchObject(said('its signature is wrong'))
  expect(answers).toMatchObject([
    said('its signature is wrong'),
    said('its signature is wrong'),
    said('is not signed'),
    said('is no table of this service'),
    said('is not signed'),
  ])
  expect(await from(ofOlderVersion, '--accept-unsigned')).toMatchObject({ code: 0 })
  expect(await backup(['verify', '--from', ofOlderVersion])).toMatchObject(said('is not signed'))
  expect(await backup(['verify', '--from', ofOlderVersion, '--accept-unsigned'])).toMatchObject({
    code: 0,
    said: expect.stringContaining('is whole, and not signed'),
  })
})
