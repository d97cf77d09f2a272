import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { connectService, type HttpServiceClient } from '../../internal/local/replay/client.js'
import { environmentIn } from '../../internal/local/supervisor/supervised-instance.js'
import { connectStore } from '../../internal/store/client.js'
import { settledBefore } from '../../internal/store/copied-instants.js'
import { RECORD_TABLES } from '../../internal/store/tables/sorted-copies.js'
import { processSeconds } from '../cpu-time.js'
import { startProduct } from '../eval/product.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import type { Processes } from '../processes.js'
import { writeResult } from '../results.js'
import { table } from '../table.js'

/**
 * Questions: what does the whole product cost when nothing happens, at 20 and at 1,000 events per second, and how soon
 * is a record visible beside pages that are read? And how fast is a backlog worked off?
 *
 * The product runs as `npm start` starts it. Processor time is that of all its processes, by role.
 */
export interface TrickleOptions {
  readonly checkout: string
  readonly natsServerBin: string
  /** Of each rate. */
  readonly seconds: number
  /** Events per second. */
  readonly rates: readonly number[]
  /** Records whose visibility is sampled at each rate. */
  readonly sightings: number
  /** Events that are sent in bulk at the end; 0: none. */
  readonly backlog: number
}

/** What is started last settles. */
const CALM_MS = 20_000
const CONNECTIONS = 64
/** Visibility is sampled in a time of its own, since the look for a record costs processor time itself. */
const SIGHT_EVERY_MS = 500
const LOOK_MS = 10
const BULK_EVENTS = 1_000

export const trickle = (options: TrickleOptions, signal: AbortSignal): Promise<void> =>
  privateRun(options.checkout, 'trickle', signal, (folder, processes) => answer(options, folder, processes))

interface Cost {
  readonly seconds: number
  readonly cores: Readonly<Record<string, number>>
  readonly cores_total: number
}

async function answer(options: TrickleOptions, folder: string, processes: Processes): Promise<void> {
  const { checkout, natsServerBin, seconds, rates, sightings, backlog } = options
  const product = await startProduct(folder, natsServerBin, processes)
  const tenant = await product.createTenant('trickle')
  const client = connectService(product.baseUrl, tenant.secret, CONNECTIONS)
  const figures: Record<string, unknown>[] = []
  try {
    await sleep(CALM_MS)
    const idle = { events_per_s: 0, ...(await costDuring(product.pid, () => sleep(seconds * 1_000))) }
    const residentMb = residentOf(product.pid)
    figures.push({ ...idle, resident_mb: sumOf(Object.values(residentMb)) })
    for (const rate of rates) {
      let sent = 0
      const cost = await costDuring(product.pid, async () => {
        sent = await sendFor(client, rate, seconds * 1_000)
      })
      figures.push({
        events_per_s: rate,
        sent_per_s: rounded(sent / cost.seconds),
        ...cost,
        ...(sightings > 0 && (await visibilityAt(client, rate, sightings))),
      })
    }
    const worked = backlog === 0 ? undefined : await workOff(client, backlog)
    const disk = backlog === 0 ? undefined : await diskOnceSettled(product.dataDir)
    writeResult(join(checkout, 'bench', 'results', 'trickle.json'), {
      question:
        'what does the whole product cost at low rates, how soon is a record visible, how fast is a backlog worked off',
      provenance: provenance(checkout),
      load: { seconds, rates, sightings, backlog },
      resident_mb: residentMb,
      figures,
      backlog: worked,
      disk,
    })
    print(figures as unknown as readonly Printed[], worked, disk)
  } finally {
    await Promise.all([client.close(), tenant.close()])
  }
}

const eventOf = (n: number) => ({
  event_id: crypto.randomUUID(),
  ingestion_timestamp: new Date().toISOString(),
  ingestion_layer: 'gateway',
  provider: 'openai',
  requested_model: n % 3 === 0 ? 'gpt-4o' : 'gpt-4o-mini',
  attributed_service: `service-${n % 40}`,
  attributed_identity: `person-${n % 500}`,
  input_tokens: 200 + (n % 1_000),
  output_tokens: 50 + (n % 300),
})

/**
 * Single events at a constant rate; an event that is late does not delay the next. @returns how many, once all are
 * accepted
 */
async function sendFor(client: HttpServiceClient, rate: number, ms: number): Promise<number> {
  const startedAt = performance.now()
  const sending: Promise<unknown>[] = []
  for (let n = 0; ; n++) {
    const dueMs = (n * 1_000) / rate
    if (dueMs >= ms) break
    const waitMs = startedAt + dueMs - performance.now()
    if (waitMs > 1) await sleep(waitMs)
    sending.push(client.send(eventOf(n)))
  }
  await Promise.all(sending)
  return sending.length
}

/** From the 202 until the record is found by its id, while events arrive and pages are read. */
async function visibilityAt(client: HttpServiceClient, rate: number, sightings: number) {
  const sightedMs: number[] = []
  const load = sendFor(client, rate, (sightings + 4) * SIGHT_EVERY_MS)
  for (let i = 0; i < sightings; i++) {
    const next = sleep(SIGHT_EVERY_MS)
    const id = (await client.send(eventOf(i))).replace(/^inv_/, 'attr_')
    const acceptedAt = performance.now()
    const page = client.page(50, undefined)
    while ((await client.find(id)) === undefined) await sleep(LOOK_MS)
    sightedMs.push(performance.now() - acceptedAt)
    await page
    await next
  }
  await load
  sightedMs.sort((one, other) => one - other)
  const at = (share: number): number => Math.round(sightedMs[Math.floor((sightedMs.length - 1) * share)] ?? Number.NaN)
  return { visible_p50_ms: at(0.5), visible_p99_ms: at(0.99), visible_max_ms: at(1) }
}

/** Sends events in bulk as fast as they are accepted, and waits until the last one is a record. */
async function workOff(client: HttpServiceClient, backlog: number) {
  const startedAt = performance.now()
  let sent = 0
  const send = async (): Promise<void> => {
    while (sent < backlog) {
      const first = sent
      sent += BULK_EVENTS
      const lines = Array.from({ length: BULK_EVENTS }, (_, i) => JSON.stringify(eventOf(first + i)))
      const { status, body } = await client.post('/api/v1/invocations', 'application/x-ndjson', lines.join('\n'))
      if (status !== 202) throw new Error(`a bulk was refused (${status}): ${body.slice(0, 300)}`)
    }
  }
  await Promise.all([send(), send(), send(), send()])
  const acceptedS = (performance.now() - startedAt) / 1_000
  const last = (await client.send(eventOf(0))).replace(/^inv_/, 'attr_')
  // One of the last per partition would do; events of a partition become records in order, and one partition may lag.
  while ((await client.find(last)) === undefined) await sleep(200)
  const total = sent + 1
  const readableS = (performance.now() - startedAt) / 1_000
  return {
    events: total,
    accepted_per_s: Math.round(sent / acceptedS),
    readable_s: readableS,
    readable_per_s: Math.round(total / readableS),
  }
}

interface Disk {
  /** From the last record until all are settled. */
  readonly settled_s: number
  readonly records: number
  /** Of the parts that queries read. */
  readonly bytes_per_record: Readonly<Record<string, number>>
  readonly bytes_per_record_total: number
}

const SETTLED_LOOK_MS = 1_000

/** Waits until the sorted copies hold all records. */
async function diskOnceSettled(dataDir: string): Promise<Disk> {
  const store = storeOf(dataDir)
  return diskOf(store).finally(() => store.close())
}

async function diskOf(store: ClickHouseClient): Promise<Disk> {
  const startedAt = performance.now()
  const ask = async <T>(query: string): Promise<T[]> => (await store.query({ query, format: 'JSONEachRow' })).json<T>()
  const [all] = await ask<{ records: string; newest: string }>(
    'SELECT count() AS records, toUnixTimestamp64Milli(max(valid_from)) AS newest FROM attributions',
  )
  while ((await settledBefore(store)) <= Number(all?.newest)) await sleep(SETTLED_LOOK_MS)
  const settledS = (performance.now() - startedAt) / 1_000
  const records = Number(all?.records)
  const tables = await ask<{ name: string; bytes: string }>(
    `SELECT if(startsWith(table, 'attributions_by_'), 'sorted copies', table) AS name, sum(bytes_on_disk) AS bytes
     FROM system.parts WHERE active AND database = currentDatabase()
       AND table IN (${[...RECORD_TABLES, 'usage_15m', 'attribution_values'].map((table) => `'${table}'`).join(', ')})
     GROUP BY name ORDER BY bytes DESC`,
  )
  const perRecord = Object.fromEntries(tables.map(({ name, bytes }) => [name, Math.round(Number(bytes) / records)]))
  return {
    settled_s: rounded(settledS),
    records,
    bytes_per_record: perRecord,
    bytes_per_record_total: sumOf(Object.values(perRecord)),
  }
}

function storeOf(dataDir: string): ClickHouseClient {
  const { ATTRIBUTION_STORE_URL: url = '', ATTRIBUTION_STORE_PASSWORD: password = '', ...more } = environmentIn(dataDir)
  const { ATTRIBUTION_STORE_USER: user = 'attribution', ATTRIBUTION_STORE_DATABASE: database = 'attribution' } = more
  return connectStore({ url, user, password, database })
}

async function costDuring(upPid: number, work: () => Promise<unknown>): Promise<Cost> {
  const before = secondsOf(upPid)
  const startedAt = performance.now()
  await work()
  const seconds = (performance.now() - startedAt) / 1_000
  const after = secondsOf(upPid)
  const cores = Object.fromEntries(
    Object.entries(after).map(([role, used]) => [role, rounded((used - (before[role] ?? 0)) / seconds)]),
  )
  return { seconds: rounded(seconds), cores, cores_total: rounded(sumOf(Object.values(cores))) }
}

const secondsOf = (upPid: number) => byRole(upPid, (pid) => processSeconds(pid) ?? 0)
const residentOf = (upPid: number) =>
  byRole(upPid, (pid) =>
    Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024),
  )

function byRole(upPid: number, read: (pid: number) => number): Record<string, number> {
  const found: Record<string, number> = {}
  for (const pid of [upPid, ...descendantsOf(upPid)]) {
    const role = roleOf(pid)
    found[role] = (found[role] ?? 0) + read(pid)
  }
  return found
}

/** Children, and theirs: the broker is started by a shell that limits it. */
function descendantsOf(parent: number): readonly number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name): [pid: number, parent: number] => [Number(name), parentOf(name)])
  const below = (pid: number): number[] =>
    parents.filter(([, of]) => of === pid).flatMap(([child]) => [child, ...below(child)])
  return below(parent)
}

function parentOf(pid: string): number {
  try {
    return Number(
      readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')[1],
    )
  } catch {
    // It ended meanwhile.
    return Number.NaN
  }
}

function roleOf(pid: number): string {
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  const main = words.map((word) => /cmd\/(\w+)\/main\.js$/.exec(word)?.[1]).find((name) => name !== undefined)
  return main ?? (words[0]?.split('/').at(-1) || 'other')
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)
const rounded = (value: number): number => Math.round(value * 1_000) / 1_000

interface Printed extends Cost {
  readonly events_per_s: number
  readonly sent_per_s?: number
  readonly resident_mb?: number
  readonly visible_p50_ms?: number
  readonly visible_p99_ms?: number
}

function print(figures: readonly Printed[], worked: object | undefined, disk: Disk | undefined): void {
  const roles = [...new Set(figures.flatMap(({ cores }) => Object.keys(cores)))]
  const rows = figures.map(
    ({ events_per_s, sent_per_s, cores, cores_total, resident_mb, visible_p50_ms, visible_p99_ms }) => [
      `${sent_per_s ?? 0} of ${events_per_s} events/s`,
      ...roles.map((role) => (cores[role] ?? 0).toFixed(3)),
      cores_total.toFixed(3),
      String(resident_mb ?? ''),
      visible_p50_ms === undefined ? '' : `${visible_p50_ms} / ${visible_p99_ms}`,
    ],
  )
  process.stdout.write(`\n${table([['cores', ...roles, 'all', 'MB', 'visible ms p50 / p99'], ...rows])}`)
  if (worked !== undefined) process.stdout.write(`\nbacklog: ${JSON.stringify(worked)}\n`)
  if (disk !== undefined) process.stdout.write(`\ndisk: ${JSON.stringify(disk)}\n`)
}
