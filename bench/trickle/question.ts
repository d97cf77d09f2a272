import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { connectService, type HttpServiceClient } from '../../internal/local/replay/client.js'
import { environmentIn } from '../../internal/local/supervisor/supervised-instance.js'
import { connectStore } from '../../internal/store/client.js'
import { settledBefore } from '../../internal/store/copied-instants.js'
import { RECORD_TABLES } from '../../internal/store/tables/sorted-copies.js'
import { startProduct } from '../eval/product.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import type { Processes } from '../processes.js'
import { writeResult } from '../results.js'
import { table } from '../table.js'
import { type AtRest, watchAtRest } from './at-rest.js'
import { type ByRole, perSecond, secondsOf, sumOf } from './process-figures.js'

/**
 * Questions: what does the whole product cost when nothing happens, at 20 and at 1,000 events per second, and how soon
 * is a record visible beside pages that are read? And how fast is a backlog worked off? When nothing happens, messages
 * on the broker and wake-ups of processes are counted, too.
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
  /** Only what happens at rest: messages on the broker, and how often processes wake up. */
  readonly rest: boolean
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
  readonly cores: ByRole
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
    const rest = await watchAtRest(product, seconds)
    if (options.rest) return reportRest(checkout, rest)
    const { cores, cores_total } = rest
    figures.push({ events_per_s: 0, seconds: rest.seconds, cores, cores_total, resident_mb: rest.resident_mb_total })
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
      at_rest: rest,
      figures,
      backlog: worked,
      disk,
    })
    print(figures as unknown as readonly Printed[], worked, disk)
    printRest(rest)
  } finally {
    await Promise.all([client.close(), tenant.close()])
  }
}

function reportRest(checkout: string, rest: AtRest): void {
  writeResult(join(checkout, 'bench', 'results', 'trickle-rest.json'), {
    question: 'what do all roles do while nothing happens',
    bar: { messages_per_s: MESSAGES_MAX, wake_ups_per_s: WAKE_UPS_MAX, resident_mb: RESIDENT_MB_MAX },
    provenance: provenance(checkout),
    at_rest: rest,
  })
  printRest(rest)
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
    bytes_per_record_total: sumOf(perRecord),
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
  const used = perSecond(before, secondsOf(upPid), seconds)
  const cores = Object.fromEntries(Object.entries(used).map(([role, cores]) => [role, rounded(cores)]))
  return { seconds: rounded(seconds), cores, cores_total: rounded(sumOf(cores)) }
}

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

/** Bars of a product at rest: counts per second, which hold on any machine, and resident memory. */
const MESSAGES_MAX = 10
const WAKE_UPS_MAX = 150
const RESIDENT_MB_MAX = 600

function printRest(rest: AtRest): void {
  const roles = Object.keys(rest.wake_ups)
  const row = (name: string, figures: ByRole, total: number, digits: number): string[] => [
    name,
    ...roles.map((role) => (figures[role] ?? 0).toFixed(digits)),
    total.toFixed(digits),
  ]
  const rows = [
    row('cores', rest.cores, rest.cores_total, 3),
    row('messages to the broker per s', rest.messages_in, rest.messages_in_total, 2),
    row('messages from it per s', rest.messages_out, rest.messages_out_total, 2),
    ['both', ...roles.map(() => ''), (rest.messages_in_total + rest.messages_out_total).toFixed(2)],
    row('wake-ups per s', rest.wake_ups, rest.wake_ups_total, 1),
    row('MB resident', rest.resident_mb, rest.resident_mb_total, 0),
    row('MB, shared pages divided', rest.proportional_mb, rest.proportional_mb_total, 0),
  ]
  process.stdout.write(`
at rest, for ${rest.seconds} s; bars: ${MESSAGES_MAX} messages per s, ${WAKE_UPS_MAX} wake-ups per s, ${RESIDENT_MB_MAX} MB

${table([['', ...roles, 'all'], ...rows])}`)
}
