/**
 * Data folders that earlier versions have written, as fixtures for upgrades:
 * `test/fixtures/data-folders/<version>.tar.gz`, and beside it what it holds, with the commit that wrote it. Each is of
 * an instance that was killed with events on their way.
 */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { serviceVersion } from '../../internal/config/version.js'
import { type Ask, askAs } from './ask.js'
import { attributedAll, listedAll, type ShownRecord, untilAttributed } from './attributed.js'
import { ROOT } from './docs.js'
import { freeze } from './freeze.js'
import { wireEvent } from './gateway.js'
import { launchService, privateDataDir } from './service.js'

const run = promisify(execFile)
const FOLDER = join(ROOT, 'test/fixtures/data-folders')

/** What a later version must read from the folder. */
export interface Expected {
  /** Parent of the commit that added the folder: its sources wrote it. */
  readonly commit: string
  readonly written_at: string
  /** With every scope; and one that may only read records. The instance exists nowhere but in the fixture. */
  readonly keys: { readonly all: string; readonly reader: string }
  readonly client: { readonly id: string; readonly secret: string }
  readonly services: readonly Fields[]
  readonly identities: readonly Fields[]
  readonly pools: readonly Fields[]
  readonly prices: readonly Fields[]
  readonly records: readonly Fields[]
  /** Sums of the records by service, over everyone. */
  readonly usage: readonly Fields[]
  /** Events that no stage has read, in the log and in the spool of the gateway; all of the same service. */
  readonly on_their_way: { readonly service: string; readonly events: number; readonly cost_usd: string }
}
type Fields = Readonly<Record<string, unknown>>

export const dataFolderVersions = (): string[] =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith('.tar.gz'))
    .map((name) => name.replace('.tar.gz', ''))

/** A copy of the folder that a version wrote. */
export async function copyDataFolder(version: string): Promise<{ dataDir: string; expected: Expected }> {
  const dataDir = privateDataDir()
  await run('tar', ['-xzf', join(FOLDER, `${version}.tar.gz`), '-C', dataDir])
  return { dataDir, expected: JSON.parse(readFileSync(join(FOLDER, `${version}.data.json`), 'utf8')) as Expected }
}

/** What identifies a record and what it says, of the fields that every version has. */
export const shownFields = (record: ShownRecord): Fields => ({
  id: record.id,
  event_time: record.event_time,
  service: record.service,
  owner: record.owner,
  output_state: record.output_state,
  cost_usd: record.cost_usd,
  cost_basis: record.cost_basis,
  energy_wh: record.energy_wh,
  carbon_gco2e: record.carbon_gco2e,
  evidence_basis: record.interpretation.evidence_basis,
})

/** All of a list that fits on a page, by name. */
export async function listOf(ask: Ask, path: string, names: readonly string[]): Promise<Fields[]> {
  const { status, json } = await ask('GET', path)
  if (status !== 200) throw new Error(`${path}: ${JSON.stringify(json)}`)
  const entries = (json.data as Fields[]).map((entry) => Object.fromEntries(names.map((name) => [name, entry[name]])))
  return entries.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}

export const LISTS = {
  services: ['/api/v1/directory/services', ['id', 'name', 'owner', 'aliases']],
  identities: ['/api/v1/directory/identities', ['id', 'name', 'owner', 'service']],
  pools: ['/api/v1/pools', ['id', 'name', 'owner', 'rules']],
  prices: ['/api/v1/prices', ['id', 'provider', 'model', 'valid_from', 'usd_per_million']],
} satisfies Record<string, [string, readonly string[]]>

const USAGE = ['service', 'calls', 'cost_usd', 'energy_wh', 'carbon_gco2e', 'input_tokens', 'output_tokens']
export const usageOf = (ask: Ask, { written_at }: Pick<Expected, 'written_at'>): Promise<Fields[]> => {
  const day = (at: number): string => new Date(at).toISOString().slice(0, 10)
  const to = Date.parse(written_at) + 24 * 60 * 60 * 1000
  return listOf(
    ask,
    `/v1/reports/usage?from=${day(to - DAYS * 2 * 24 * 60 * 60 * 1000)}&to=${day(to)}&group_by=service`,
    USAGE,
  )
}

/** How far back the calls are. */
const DAYS = 4
const PEOPLE = 6
/** Ten events: five in the log, five in the spool. */
const LATE = { service: 'late', events: 10, cost_usd: '0.01' }
const LATE_COST_USD = '0.001'

/** Writes the fixture of this version, from the sources as they are built. */
export async function writeDataFolder(): Promise<void> {
  const dataDir = privateDataDir()
  const service = await launchService({ dataDir, roles: [] })
  const ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const tell = async (method: string, path: string, body: unknown) => {
    const { status, json } = await ask(method, path, body)
    if (status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(json)}`)
    return json
  }
  // Tests of later years must still find the records.
  await tell('PATCH', '/api/v1/settings', { retention_days: 3650 })
  await tell('POST', LISTS.services[0], { name: 'checkout', owner: 'team-shop', aliases: ['checkout-v2'] })
  await tell('POST', LISTS.services[0], { name: 'search', owner: 'team-search' })
  await tell('POST', LISTS.services[0], { name: LATE.service, owner: 'team-late' })
  await tell('POST', LISTS.identities[0], { name: 'bot-7', owner: 'team-bots', service: 'crawler' })
  await tell('POST', LISTS.pools[0], {
    name: 'shared-proxy',
    owner: 'team-platform',
    rules: [{ ingestion_layer: 'proxy' }],
  })
  await tell('POST', LISTS.prices[0], {
    provider: 'mistral',
    model: 'mistral-large-latest',
    valid_from: '2026-01-01T00:00:00Z',
    usd_per_million: { input_tokens: '1.25', output_tokens: '3.333333' },
  })
  const reader = await tell('POST', '/api/v1/api-keys', { name: 'Reader', scopes: ['read:attribution'] })
  const client = await tell('POST', '/api/v1/clients', {
    name: 'Fixture',
    scopes: ['read:attribution'],
  })
  await untilAttributed(
    ask,
    { attributed_service: undefined, attributed_identity: 'bot-7' },
    ({ service: name }) => name === 'crawler',
  )
  await untilAttributed(ask, proxied(0), ({ service: name }) => name === 'shared-proxy')
  await untilAttributed(ask, mistral(0), ({ cost_basis }) => cost_basis === 'tenant_price')

  await listedAll(ask, Array.from({ length: DAYS * PEOPLE }, (_, i) => [checkout(i), mistral(i), proxied(i)]).flat())
  const [overridden] = await attributedAll(ask, [checkout(0)])
  await tell('POST', `/v1/attribution/${overridden.id}/override`, {
    service: 'support',
    owner: 'team-support',
    reason: 'The proxy does not say its service.',
  })
  while ((await ask('GET', `/v1/attribution/${overridden.id}`)).json.output_state !== 'overridden') await sleep(100)
  const readable = { written_at: new Date().toISOString() }
  const expected: Omit<Expected, 'on_their_way'> = {
    ...readable,
    commit: (await run('git', ['rev-parse', 'HEAD'], { cwd: ROOT })).stdout.trim(),
    keys: { all: service.credentials.api_key, reader: reader.secret },
    client: { id: client.id, secret: client.client_secret },
    services: await listOf(ask, ...LISTS.services),
    identities: await listOf(ask, ...LISTS.identities),
    pools: await listOf(ask, ...LISTS.pools),
    prices: await listOf(ask, ...LISTS.prices),
    records: (await ask('GET', '/v1/attribution?limit=200')).json.data.map(shownFields),
    usage: await usageOf(ask, readable),
  }

  // Five events stay in the log, and five in the spool: no stage reads, then the broker does not answer.
  await freeze(service.pid('attributor'))
  await tell('POST', '/api/v1/invocations', Array.from({ length: LATE.events / 2 }, late))
  await freeze(service.pid('nats'))
  const [spooled, key] = [Array.from({ length: LATE.events / 2 }, late), { 'idempotency-key': randomUUID() }]
  while ((await ask('POST', '/api/v1/invocations', spooled, key)).status !== 202) await sleep(100)
  const pids = ['up', 'gateway', 'attributor', 'store', 'nats'].map((role) => service.pid(role))
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  await service.process.exited
  await pack(dataDir, { ...expected, on_their_way: LATE })
}

/** What is of this machine or of the processes that ran. */
const NOT_PACKED = [
  'run.json',
  'environment.json',
  'logs',
  'nats/nats-server.pid',
  // Written anew by each start.
  'nats/nats-server.conf',
  'store/config.xml',
]

async function pack(dataDir: string, expected: Expected): Promise<void> {
  for (const name of NOT_PACKED) rmSync(join(dataDir, name), { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  const archive = join(FOLDER, `${serviceVersion()}.tar.gz`)
  const same = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner']
  await run('tar', [...same, '-czf', archive, '-C', dataDir, '.'], { env: { ...process.env, GZIP: '-9' } })
  writeFileSync(archive.replace('.tar.gz', '.data.json'), `${JSON.stringify(expected, null, 2)}\n`)
  process.stderr.write(`${archive}: ${statSync(archive).size} bytes\n`)
}

/** A call of person i on one of the days before. */
const call = (i: number, stated: Fields): Record<string, unknown> =>
  wireEvent({
    attributed_identity: `person-${i % PEOPLE}@example.com`,
    ingestion_timestamp: new Date(Date.now() - (i % DAYS) * 24 * 60 * 60 * 1000).toISOString(),
    input_tokens: 1200 + i,
    output_tokens: 250 + i,
    ...stated,
  })
const checkout = (i: number) => call(i, { attributed_service: i % 2 === 0 ? 'checkout' : 'checkout-v2' })
const mistral = (i: number) =>
  call(i, { attributed_service: 'search', provider: 'mistral', requested_model: 'mistral-large-latest' })
const proxied = (i: number) => call(i, { attributed_service: undefined, ingestion_layer: 'proxy' })
const late = (_: unknown, i: number) => call(i, { attributed_service: LATE.service, estimated_cost_usd: LATE_COST_USD })
