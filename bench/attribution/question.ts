import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Checkpoint } from '../../internal/attribution/actor/checkpoint.js'
import { readCheckpoint } from '../../internal/broker/checkpoint.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { tenantIdsCache } from '../../internal/ids/ids.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { connectStore } from '../../internal/store/client.js'
import { createDatabase, migrate } from '../../internal/store/migrations/migrate.js'
import { readRows } from '../../internal/store/queries/records/versions.js'
import { insertRows } from '../../internal/store/sink.js'
import { ATTRIBUTIONS, type AttributionRow } from '../../internal/store/tables/attributions.js'
import { CHECKPOINTS, SIGNING_KEYS, WEBHOOKS } from '../../streams/buckets.js'
import { INVOCATIONS, invocationsSubject, STAGES, type StageName } from '../../streams/invocations.js'
import { processSeconds } from '../cpu-time.js'
import { type Ground, prepareGround, startAttributor, startStore } from '../ingest/servers.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import { Processes } from '../processes.js'
import { readResult, writeResult } from '../results.js'
import { pairedRatio, type Spread, spread } from '../statistics.js'
import { table } from '../table.js'
import { publishEvents, type Sender } from './events.js'

/**
 * Question: what does attribution cost on top of writing its result?
 *
 * Admitted events lie in the log in full groups; the attributor reads them, deduplicates, attributes by facts, prices,
 * works out energy and carbon, and inserts, each batch planned and exactly once. Beside it one client inserts the same
 * finished rows, in batches of the same size, into the same tables (rollups included) of another
 * database of the same engine.
 *
 * And: what do the stages cost each, in processor time of the attributor? Events that state nothing go through stage A
 * alone, then B alone, then C alone.
 */
export interface AttributionOptions {
  readonly checkout: string
  readonly natsServerBin: string
  readonly repeats: number
  /** Events a repeat. */
  readonly events: number
}

const BAR = 0.5
const PARTITIONS = 2
const WARM_UP_EVENTS = 20_000

interface Result {
  readonly pipeline_div_raw_insert: Spread
  readonly pipeline_rows_per_s: Spread
  /** With one subscriber of attribution.materialized: an event a row is published besides. */
  readonly subscribed_rows_per_s: Spread
  readonly raw_insert_rows_per_s: Spread
  readonly rows_a_batch: number
  readonly attributor_us_a_row: Spread
  readonly store_us_a_row: Spread
  readonly raw_store_us_a_row: Spread
  /** Of one core of the attributor's processor time. */
  readonly stage_events_per_s_and_core: Readonly<Record<string, number>>
}

export const attribution = (options: AttributionOptions, signal: AbortSignal): Promise<void> =>
  privateRun(options.checkout, 'attribution', signal, (folder, processes) => answer(options, folder, processes))

async function answer(options: AttributionOptions, folder: string, processes: Processes): Promise<void> {
  const ground = await prepareGround(folder, options.natsServerBin, processes)
  const storePort = await freePort()
  const storePid = await startStore(ground, storePort)
  const account = { url: `http://127.0.0.1:${storePort}`, user: 'attribution', password: ground.storePassword }
  const store = connectStore({ ...account, database: 'attribution' })
  await createDatabase(account, 'raw')
  const raw = connectStore({ ...account, database: 'raw' })
  await migrate(raw)
  const sender = await senderOf(ground)

  const attributors = new Processes(folder)
  const pid = await startAttributor({ ...ground, processes: attributors }, storePort)
  await through(WARM_UP_EVENTS, 'stated', ['a'], ground, sender)
  const repeats: Repeat[] = []
  for (let i = 0; i < options.repeats; i++) {
    repeats.push(await repeat(options.events, { ground, sender, store, raw, storePid, pid }))
    process.stderr.write(`${i + 1}/${options.repeats}: ${JSON.stringify(repeats.at(-1))}\n`)
  }
  await subscribe(ground, sender.tenantId)
  const subscribed: number[] = []
  for (let i = 0; i < options.repeats; i++) {
    subscribed.push(options.events / (await through(options.events, 'stated', ['a'], ground, sender)))
  }
  await attributors.stop()
  const stages = await eachStage(options.events, folder, storePort, ground, sender)
  await store.close()
  await raw.close()
  report(options, repeats, subscribed, stages)
}

export async function senderOf({ broker, files, credentials }: Ground): Promise<Sender> {
  const masterKeys = readMasterKeys({ masterKey: '', masterKeyFile: files.masterKey })
  const idsKey = await signingKey(await broker.bucket(SIGNING_KEYS), masterKeys, 'ids')
  return {
    tenantId: credentials.tenant_id,
    ids: tenantIdsCache(idsKey)(credentials.tenant_id),
    principal: `key_${credentials.api_key.split('_')[2]}`,
    partitions: PARTITIONS,
    publish: createPublisher(broker.connection).publish,
  }
}

/** One verified endpoint that wants to hear of each new attribution; no courier delivers to it. */
async function subscribe({ broker }: Ground, tenantId: string): Promise<void> {
  const webhook = { id: 'whk_bench', tenant_id: tenantId, status: 'verified', events: ['attribution.materialized'] }
  await (await broker.bucket(WEBHOOKS)).put(webhook.id, JSON.stringify(webhook))
}

interface Repeat {
  readonly pipelineRowsPerS: number
  readonly rawRowsPerS: number
  readonly rowsABatch: number
  readonly attributorUs: number
  readonly storeUs: number
  readonly rawStoreUs: number
}

interface Running {
  readonly ground: Ground
  readonly sender: Sender
  readonly store: ClickHouseClient
  readonly raw: ClickHouseClient
  readonly storePid: number
  readonly pid: number
}

async function repeat(events: number, { ground, sender, store, raw, storePid, pid }: Running): Promise<Repeat> {
  const beganAtMs = Date.now()
  const cpu = () => ({ attributor: processSeconds(pid) ?? Number.NaN, store: processSeconds(storePid) ?? Number.NaN })
  const before = cpu()
  const seconds = await through(events, 'stated', ['a'], ground, sender)
  const after = cpu()

  const rows = await readRows(store, 'WHERE valid_from >= fromUnixTimestamp64Milli({from:Int64})', { from: beganAtMs })
  if (rows.length !== events) throw new Error(`${events} events were attributed, but ${rows.length} rows are there`)
  const batches = new Set(rows.map(({ validFromMs, sourcePartition }) => `${validFromMs} ${sourcePartition}`)).size
  const rowsABatch = Math.ceil(rows.length / batches)
  const rawSeconds = await insertAll(raw, rows, rowsABatch)
  const afterRaw = cpu()
  return {
    pipelineRowsPerS: events / seconds,
    rawRowsPerS: events / rawSeconds,
    rowsABatch,
    attributorUs: ((after.attributor - before.attributor) * 1e6) / events,
    storeUs: ((after.store - before.store) * 1e6) / events,
    rawStoreUs: ((afterRaw.store - after.store) * 1e6) / events,
  }
}

/** Sends events through the stages. @returns seconds from the first one sent until all have taken effect */
export async function through(
  events: number,
  labels: 'stated' | 'none',
  stages: readonly StageName[],
  ground: Ground,
  sender: Sender,
): Promise<number> {
  const startedAt = performance.now()
  await publishEvents(events, labels, sender)
  await untilDone(ground, stages)
  return (performance.now() - startedAt) / 1_000
}

async function untilDone({ broker }: Ground, stages: readonly StageName[]): Promise<void> {
  const checkpoints = await broker.bucket(CHECKPOINTS)
  for (const stage of stages) {
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const subject = invocationsSubject(stage, partition)
      const last = await broker.manager.direct.getMessage(INVOCATIONS.name, { last_by_subj: subject }).catch(() => null)
      for (;;) {
        const checkpoint = await readCheckpoint<Checkpoint>(checkpoints, `${stage}.${partition}`)
        if ((checkpoint?.done ?? 0) >= (last?.seq ?? 0) && checkpoint?.plan === undefined) break
        await sleep(2)
      }
    }
  }
}

async function insertAll(store: ClickHouseClient, rows: readonly AttributionRow[], batch: number): Promise<number> {
  const startedAt = performance.now()
  for (let from = 0; from < rows.length; from += batch) {
    await insertRows(store, ATTRIBUTIONS, rows.slice(from, from + batch), `raw.${startedAt}.${from}`)
  }
  return (performance.now() - startedAt) / 1_000
}

/** The lane is no stage of its own: it comes with A. */
const MEASURED = STAGES.filter((stage) => stage !== 'l')

/** Each stage alone in a process of its own, on the output of the stage before it. */
async function eachStage(
  events: number,
  folder: string,
  storePort: number,
  ground: Ground,
  sender: Sender,
): Promise<Record<string, number>> {
  await publishEvents(events, 'none', sender)
  const rates: Record<string, number> = {}
  for (const stage of MEASURED) {
    const processes = new Processes(join(folder))
    const pid = await startAttributor({ ...ground, processes }, storePort, ['--stages', stage], `attributor-${stage}`)
    const before = processSeconds(pid) ?? Number.NaN
    await untilDone(ground, [stage])
    rates[stage] = events / ((processSeconds(pid) ?? Number.NaN) - before)
    await processes.stop()
  }
  return rates
}

function report(
  { checkout, events }: AttributionOptions,
  repeats: readonly Repeat[],
  subscribed: readonly number[],
  stages: Record<string, number>,
) {
  const of = (read: (repeat: Repeat) => number): number[] => repeats.map(read)
  const result: Result = {
    pipeline_div_raw_insert: pairedRatio(
      of(({ pipelineRowsPerS }) => pipelineRowsPerS),
      of(({ rawRowsPerS }) => rawRowsPerS),
    ),
    pipeline_rows_per_s: spread(of(({ pipelineRowsPerS }) => pipelineRowsPerS)),
    subscribed_rows_per_s: spread(subscribed),
    raw_insert_rows_per_s: spread(of(({ rawRowsPerS }) => rawRowsPerS)),
    rows_a_batch: Math.round(spread(of(({ rowsABatch }) => rowsABatch)).median),
    attributor_us_a_row: spread(of(({ attributorUs }) => attributorUs)),
    store_us_a_row: spread(of(({ storeUs }) => storeUs)),
    raw_store_us_a_row: spread(of(({ rawStoreUs }) => rawStoreUs)),
    stage_events_per_s_and_core: stages,
  }
  const file = join(checkout, 'bench', 'results', 'attribution.json')
  const before = readResult<Result>(file)
  writeResult(file, {
    question: 'what does attribution cost on top of writing its result',
    bar: { pipeline_div_raw_insert: BAR },
    provenance: provenance(checkout),
    load: { events_a_repeat: events, repeats: repeats.length, partitions: PARTITIONS },
    ...result,
  })
  const line = (name: string, { min, median, max }: Spread, digits: number, bar = '', earlier?: Spread): string[] => [
    name,
    ...[min, median, max].map((value) => value.toFixed(digits)),
    bar,
    earlier?.median.toFixed(digits) ?? '',
  ]
  const { pipeline_div_raw_insert: ratio } = result
  const rows = [
    ['', 'min', 'median', 'max', 'bar', 'before'],
    line('pipeline ÷ raw insert', ratio, 2, `>= ${BAR.toFixed(2)}`, before?.pipeline_div_raw_insert),
    line('pipeline, rows/s', result.pipeline_rows_per_s, 0, '', before?.pipeline_rows_per_s),
    line('pipeline with a subscriber, rows/s', result.subscribed_rows_per_s, 0, '', before?.subscribed_rows_per_s),
    line('raw insert, rows/s', result.raw_insert_rows_per_s, 0, '', before?.raw_insert_rows_per_s),
    line('attributor, µs a row', result.attributor_us_a_row, 1, '', before?.attributor_us_a_row),
    line('store, µs a row', result.store_us_a_row, 1, '', before?.store_us_a_row),
    line('store for the raw insert, µs a row', result.raw_store_us_a_row, 1, '', before?.raw_store_us_a_row),
  ]
  const ofStages = MEASURED.map((stage) => `${stage} ${Math.round(stages[stage] ?? Number.NaN)}`).join(', ')
  process.stdout.write(
    `\n${table(rows)}\n  ${result.rows_a_batch} rows a batch. Events/s and core of each stage alone: ${ofStages}.\n`,
  )
}
