import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { readReport } from '../../internal/reports/question.js'
import { firstPage, type ReportReads } from '../../internal/reports/report.js'
import { connectStore } from '../../internal/store/client.js'
import { migrate } from '../../internal/store/migrations/migrate.js'
import { hasClosedIn, readAnswer, readStaged, stageAnswer } from '../../internal/store/queries/reports/answer.js'
import { FIGURE_NAMES, figureSql } from '../../internal/store/queries/reports/figures.js'
import { isFlat, readFlatAnswer } from '../../internal/store/queries/reports/flat-answer.js'
import { countHoldingFilters } from '../../internal/store/queries/reports/holding-filters.js'
import { AS_OF_SNAPSHOT, IN_PERIOD, snapshotParams } from '../../internal/store/snapshot.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import type { Processes } from '../processes.js'
import { closeRecords } from '../query/generate.js'
import { startQueryStore } from '../query/store.js'
import { writeResult } from '../results.js'
import { pairedRatio, quantile } from '../statistics.js'
import { table } from '../table.js'
import { generateCalls, LAST_AT_MS } from './generate.js'

/**
 * Question: does a report of any company answer in one request, as fast as the GROUP BY that a person would write?
 *
 * Twelve months of calls of 500 people who use 40 services and six models, made inside the engine, some of them closed.
 * Each report, with its 28 figures, the cohort rule, order and paging, beside a GROUP BY by hand of the same calls: as
 * of the same snapshot, with distinct people, once with six sums and once with all figures. Then a month by service
 * while records arrive.
 */
export interface ReportsOptions {
  readonly checkout: string
  readonly rows: number
  readonly repeats: number
  /** Rows a second that come in during the last question. */
  readonly ingest: number
}

const TENANT = 'tnt_bench'
const SNAPSHOT_MS = LAST_AT_MS + 60_000
const NOW_MS = SNAPSHOT_MS
const CLOSED = 1_000
const LIMIT = 100
const BATCH = 250_000
const MONTH = 'from=2026-10-01&to=2026-11-01'

/** Each report, and the keys and the condition of the GROUP BY by hand. */
const QUESTIONS = [
  { name: 'no parameters', query: '', keys: [], where: '' },
  { name: 'month, by service', query: `group_by=service&${MONTH}`, keys: ['service'], where: '' },
  {
    name: 'month, by service, owner, day',
    query: `group_by=service,owner&interval=day&${MONTH}`,
    keys: ['service', 'owner', 'toStartOfDay(event_time)'],
    where: '',
  },
  {
    name: 'month, by service, one provider',
    query: `group_by=service&filter[provider][eq]=openai&${MONTH}`,
    keys: ['service'],
    where: "AND provider = 'openai'",
  },
  { name: 'year, by service', query: 'group_by=service&from=2025-11-20&to=2026-11-20', keys: ['service'], where: '' },
] as const
type Asked = (typeof QUESTIONS)[number]
const RATIO_MAX = 1.5
const BESIDE_INGEST_MS_MAX = 300

export const reports = (options: ReportsOptions, signal: AbortSignal): Promise<void> =>
  privateRun(options.checkout, 'reports', signal, (folder, processes) => answer(options, folder, processes))

async function answer(options: ReportsOptions, folder: string, processes: Processes): Promise<void> {
  const { checkout, rows, repeats, ingest } = options
  const connection = await startQueryStore(checkout, folder, await freePort(), processes)
  const store = connectStore({ ...connection, silenceMsMax: 60 * 60 * 1000 })
  await migrate(store)
  const startedAt = performance.now()
  const feeds = await feedsOf(store)
  for (const feed of feeds) await store.command({ query: `DETACH TABLE ${feed}` })
  for (let from = 0; from < rows; from += BATCH) {
    await generateCalls(store, { tenantId: TENANT, from, to: Math.min(rows, from + BATCH), total: rows })
    if (from % (4 * BATCH) === 0) process.stderr.write(`${from} rows\n`)
  }
  await closeRecords(store, TENANT, CLOSED, rows)
  // As a day brings it (`SETTLED_AFTER_S`).
  await store.command({ query: 'OPTIMIZE TABLE attributions FINAL' })
  const loadingS = (performance.now() - startedAt) / 1000

  const figures = []
  for (const asked of QUESTIONS) figures.push(await measure(store, asked, repeats))

  for (const feed of feeds) await store.command({ query: `ATTACH TABLE ${feed}` })
  const { beside, arrived } = await askBesideIngest(store, connectStore(connection), options)
  await store.close()

  writeResult(join(checkout, 'bench', 'results', 'reports.json'), {
    question: 'does a report answer in one request, as fast as the GROUP BY by hand',
    provenance: provenance(checkout),
    load: { rows, closed: CLOSED, repeats, loading_s: loadingS },
    figures: figures.map((figure) => ({ ...figure, ...ratiosOf(figure) })),
    beside_ingest: { rows_per_s: ingest, arrived, p50_ms: quantile(beside, 0.5), p99_ms: quantile(beside, 0.99) },
  })
  const lines = figures.map((figure) => {
    const ratios = ratiosOf(figure)
    return [
      figure.name,
      String(figure.rows),
      ...[figure.ours_ms, figure.by_hand_ms].flatMap((ms) => [
        quantile(ms, 0.5).toFixed(0),
        quantile(ms, 0.99).toFixed(0),
      ]),
      ratios.to_by_hand.toFixed(2),
      ratios.to_by_hand_with_all_figures.toFixed(2),
      ratios.to_by_hand <= RATIO_MAX ? '' : 'missed',
    ]
  })
  const head = [
    'report',
    'rows',
    'p50 ms',
    'p99',
    'by hand p50',
    'p99',
    '÷ by hand',
    '÷ all figures',
    `bar ${RATIO_MAX}`,
  ]
  process.stdout.write(`\n${table([head, ...lines])}\n`)
  const p99 = quantile(beside, 0.99)
  process.stdout.write(
    `  month, by service, beside ${ingest} records/s (${arrived} arrived): ` +
      `p50 ${quantile(beside, 0.5).toFixed(0)}, p99 ${p99.toFixed(0)} ms; bar ${BESIDE_INGEST_MS_MAX}` +
      `${p99 <= BESIDE_INGEST_MS_MAX ? '' : ', missed'}\n`,
  )
}

async function measure(store: ClickHouseClient, asked: (typeof QUESTIONS)[number], repeats: number) {
  const ours: number[] = []
  const byHand: number[] = []
  const byHandAll: number[] = []
  let shown = 0
  // Once to warm up: the first read of a file is not measured.
  for (let repeat = 0; repeat <= repeats; repeat++) {
    const [ms, rowsShown] = await timed(() => ask(store, asked))
    const [handMs] = await timed(() => askByHand(store, asked, SUMS))
    const [allMs] = await timed(() => askByHand(store, asked, ALL_FIGURES))
    shown = rowsShown
    if (repeat === 0) continue
    ours.push(ms)
    byHand.push(handMs)
    byHandAll.push(allMs)
  }
  return { name: asked.name, rows: shown, ours_ms: ours, by_hand_ms: byHand, by_hand_all_ms: byHandAll }
}

/** A month by service, while records arrive over a connection of their own. */
async function askBesideIngest(
  store: ClickHouseClient,
  arriving: ClickHouseClient,
  { rows, repeats, ingest }: ReportsOptions,
): Promise<{ readonly beside: readonly number[]; readonly arrived: number }> {
  const stopping = new AbortController()
  const incoming = arrive(arriving, rows, ingest, stopping.signal)
  const beside: number[] = []
  let arrived = 0
  try {
    for (let i = 0; i < 5 * repeats; i++) {
      const [ms] = await timed(() => ask(store, QUESTIONS[1]))
      beside.push(ms)
      // As people ask: not one after the other without a pause.
      await sleep(200)
    }
  } finally {
    stopping.abort()
    arrived = await incoming
  }
  return { beside, arrived }
}

/**
 * What fills the rollups of records, none of which reports read. Without it the calls are there in a fraction of the
 * time; the records that arrive during the last question fill them.
 */
async function feedsOf(store: ClickHouseClient): Promise<readonly string[]> {
  const result = await store.query({
    query: "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'MaterializedView'",
    format: 'JSONCompactEachRow',
  })
  return (await result.json<[string]>()).map(([name]) => name)
}

interface Measured {
  readonly ours_ms: readonly number[]
  readonly by_hand_ms: readonly number[]
  readonly by_hand_all_ms: readonly number[]
}
/** Neighbours are compared: what disturbs the machine for longer than a repeat disturbs both alike. */
const ratiosOf = ({ ours_ms, by_hand_ms, by_hand_all_ms }: Measured) => ({
  to_by_hand: pairedRatio(ours_ms, by_hand_ms).median,
  to_by_hand_with_all_figures: pairedRatio(ours_ms, by_hand_all_ms).median,
})

async function timed<T>(task: () => Promise<T>): Promise<[ms: number, value: T]> {
  const startedAt = performance.now()
  const value = await task()
  return [performance.now() - startedAt, value]
}

const questionOf = ({ query, name }: Asked) => {
  const read = readReport('usage', query, NOW_MS)
  if (!read.ok) throw new Error(`${name}: ${JSON.stringify(read.problem)}`)
  return read.question
}

/** @returns rows of the answer */
async function ask(store: ClickHouseClient, asked: Asked): Promise<number> {
  const never = new AbortController().signal
  const reads: ReportReads = {
    weights: () => Promise.resolve(undefined),
    holdingFilters: (...asked) => countHoldingFilters(store, ...asked),
    hasClosed: (of, signal) => hasClosedIn(store, of, signal),
    read: (query, limit, signal) => (isFlat(query) ? readFlatAnswer : readAnswer)(store, query, limit, signal),
    stage: (query, signal) => stageAnswer(store, query, signal),
    readStaged: (...staged) => readStaged(store, ...staged),
  }
  const of = { tenantId: TENANT, snapshotMs: SNAPSHOT_MS, notPeople: [], cohortMin: 5, months: [] }
  return (await firstPage(questionOf(asked), of, LIMIT, reads, never)).totals.rows
}

async function askByHand(store: ClickHouseClient, asked: Asked, sums: readonly string[]): Promise<number> {
  const { period } = questionOf(asked)
  const selected = [...asked.keys, ...sums, 'uniqExact(identity_hash)'].join(', ')
  const result = await store.query({
    query: `SELECT ${selected} FROM attributions
            WHERE tenant_id = {tenant:String} AND ${IN_PERIOD} AND ${AS_OF_SNAPSHOT} ${asked.where}
            ${asked.keys.length === 0 ? '' : `GROUP BY ${asked.keys.join(', ')}`}`,
    query_params: { ...snapshotParams(TENANT, SNAPSHOT_MS), from: period.fromMs, to: period.toMs },
    format: 'JSONCompactEachRow',
  })
  return (await result.json()).length
}

const SUMS = [
  'count()',
  ...['cost_usd', 'energy_wh', 'carbon_gco2e', 'input_tokens', 'output_tokens'].map((name) => `sum(${name})`),
]

const ALL_FIGURES = FIGURE_NAMES.map(figureSql)

/** Rows that come in at a constant rate, as a batch a second, after the snapshot. @returns how many came */
async function arrive(store: ClickHouseClient, first: number, rate: number, signal: AbortSignal): Promise<number> {
  let from = 0
  try {
    while (rate > 0 && !signal.aborted) {
      const next = sleep(1_000)
      await generateCalls(
        store,
        { tenantId: TENANT, from: first + from, to: first + from + rate, total: first },
        120_000,
      )
      from += rate
      await next
    }
  } finally {
    await store.close()
  }
  return from
}
