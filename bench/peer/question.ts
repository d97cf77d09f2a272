import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Sql } from 'postgres'
import { connectService } from '../../internal/local/replay/client.js'
import { recordDropped } from '../../internal/store/old-copies.js'
import { RECORD_TABLES } from '../../internal/store/tables/sorted-copies.js'
import { startProduct } from '../eval/product.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import type { Processes } from '../processes.js'
import { fill, storeOf, untilSettled } from '../reports/fill.js'
import { readResult, writeResult } from '../results.js'
import { pairedRatio, quantile, type Spread } from '../statistics.js'
import { table } from '../table.js'
import { type Admitted, admit, LANES, newCall, type Sides, untilReadable } from './admission.js'
import { callsSince, copyInto, createIndexes, createTable } from './calls-table.js'
import { type Question, questionsOf, type Sample } from './cases.js'
import { findPostgres, type Installed, startPostgres } from './postgres.js'
import { type Cores, coresOf } from './processor-time.js'

/**
 * Question: what does the product cost, and gain, beside what a team would build by itself: a table in Postgres?
 *
 * The product runs as `npm start` starts it, with the calls of `reports`; a private Postgres of Debian's package has
 * the same calls in one table with six indexes. Each question is asked on both in turn, over HTTP and as a prepared
 * statement, and must have the same answer. New calls are sent over the API, and copied as finished rows.
 */
export interface PeerOptions {
  readonly checkout: string
  readonly natsServerBin: string
  readonly rows: number
  /** Of each question. */
  readonly repeats: number
  /** Of new calls. */
  readonly rounds: number
}

/** Else old months would leave the sorted copies at some moment of the run. */
const ALL_COPIED = { ATTRIBUTION_TUNING: 'sorted-copies-days=400' }
const COPIED_DAYS = 35
const CALLS_PER_ROUND = 20_000
/** Not counted: Postgres has then chosen the plans of its prepared statements. */
const WARM_UPS = 8
const SAMPLED = 1_000

export async function peer(options: PeerOptions, signal: AbortSignal): Promise<void> {
  const postgres = findPostgres()
  if ('missing' in postgres) {
    process.stderr.write(`peer is skipped: ${postgres.missing}\n`)
    return
  }
  await privateRun(options.checkout, 'peer', signal, (folder, processes) =>
    answer(options, postgres, folder, processes),
  )
}

async function answer(options: PeerOptions, postgres: Installed, folder: string, processes: Processes): Promise<void> {
  const { natsServerBin, rows, repeats, rounds } = options
  const product = await startProduct(folder, natsServerBin, processes, { env: ALL_COPIED })
  const { tenant_id: tenantId, api_key: apiKey } = JSON.parse(
    readFileSync(join(product.dataDir, 'credentials.json'), 'utf8'),
  ) as { readonly tenant_id: string; readonly api_key: string }
  const [client, store] = [connectService(product.baseUrl, apiKey, LANES), storeOf(product.dataDir)]
  const connect = await startPostgres(postgres, folder, processes)
  const [sql, one] = [connect(LANES), connect(1)]
  const sides: Sides = { client, store, sql, tenantId }
  try {
    await fill(product.dataDir, tenantId, rows)
    const lastMs = Date.now()
    // Settling looks again once a record has come over the API.
    await untilReadable(client, await client.send(newCall(0, lastMs)))
    await untilSettled(product.dataDir)
    await copyAll(sides)
    const ids: string[] = []
    const admitted: Admitted[] = []
    for (let round = 0; round < rounds; round++) {
      admitted.push(await admit(sides, CALLS_PER_ROUND, ids))
      process.stderr.write(`${JSON.stringify(admitted.at(-1))}\n`)
    }
    await asADayBringsIt(product.dataDir, sides)
    const questions = questionsOf({ calls: await sampleOf(sql), ids, lastMs })
    const asked = { client, sql: one, tenantId, cores: await coresOf(product.pid, one) }
    const figures = await askBoth(questions, asked, repeats)
    // As the product has it by default once months are old.
    await recordDropped(store, lastMs - COPIED_DAYS * 86_400_000)
    const pages = questions.filter(({ isPage }) => isPage)
    const ofOldMonths = pages.map((page) => ({ ...page, name: `${page.name}; ${COPIED_DAYS} days in copies` }))
    figures.push(...(await askBoth(ofOldMonths, asked, repeats)))
    report(options, await versionOf(sql), figures, admitted)
  } finally {
    await Promise.all([client.close(), store.close(), sql.end({ timeout: 0 }), one.end({ timeout: 0 })])
  }
}

async function copyAll({ store, sql, tenantId }: Sides): Promise<void> {
  const startedAt = performance.now()
  await createTable(sql)
  await copyInto(sql, await callsSince(store, tenantId, 0))
  await createIndexes(sql)
  await sql.unsafe('VACUUM ANALYZE calls')
  process.stderr.write(`in Postgres after ${Math.round((performance.now() - startedAt) / 1_000)} s\n`)
}

/** Both have done what they do within a day: copies and merges, vacuum and statistics. */
async function asADayBringsIt(dataDir: string, { store, sql }: { store: ClickHouseClient; sql: Sql }): Promise<void> {
  await untilSettled(dataDir)
  for (const name of RECORD_TABLES) await store.command({ query: `OPTIMIZE TABLE ${name} FINAL` })
  await sql.unsafe('VACUUM ANALYZE calls')
  process.stderr.write('settled\n')
}

const sampleOf = async (sql: Sql): Promise<Sample['calls']> =>
  sql.unsafe<{ service: string; owner: string; served_model: string }[]>(
    `SELECT service, owner, served_model FROM calls ORDER BY md5(id::text) LIMIT ${SAMPLED}`,
  )

const versionOf = async (sql: Sql): Promise<string> => String((await sql`SHOW server_version`)[0]?.['server_version'])

interface Figure {
  readonly name: string
  readonly barMs: number | undefined
  readonly ours: Timed[]
  readonly theirs: Timed[]
}

interface Timed {
  readonly ms: number
  readonly coreMs: number
  readonly body: string
}

type Asked = Omit<Sides, 'store'> & { readonly cores: Cores }

/** Asks all questions in turn, each on both sides, every other time on Postgres first. */
async function askBoth(questions: readonly Question[], asked: Asked, repeats: number): Promise<Figure[]> {
  const figures = questions.map(({ name, barMs }): Figure => ({ name, barMs, ours: [], theirs: [] }))
  for (let n = 0; n < WARM_UPS + repeats; n++) {
    for (const [i, question] of questions.entries()) {
      const { ours, theirs } = await askOnBoth(question, n, asked)
      if (!question.isSame(JSON.parse(ours.body), JSON.parse(theirs.body))) {
        throw new Error(`${question.path(n)}: the answers differ\n${ours.body}\n${theirs.body}`)
      }
      if (n < WARM_UPS) continue
      figures[i]?.ours.push({ ...ours, body: '' })
      figures[i]?.theirs.push({ ...theirs, body: '' })
    }
    if ((n + 1) % 10 === 0) process.stderr.write(`asked ${n + 1} times\n`)
  }
  return figures
}

async function askOnBoth(question: Question, n: number, { client, sql, tenantId, cores }: Asked) {
  const askOurs = async (): Promise<string> => {
    const { status, body } = await client.get(question.path(n))
    if (status !== 200) throw new Error(`${question.path(n)} was refused (${status}): ${body}`)
    return body
  }
  const askTheirs = async (): Promise<string> => {
    const [row] = await sql.unsafe<{ body: string }[]>(question.sql, [tenantId, ...question.values(n)], {
      prepare: true,
    })
    return row?.body ?? ''
  }
  const theirsFirst = n % 2 === 0 ? undefined : await timed(askTheirs, cores.theirs)
  const ours = await timed(askOurs, cores.ours)
  return { ours, theirs: theirsFirst ?? (await timed(askTheirs, cores.theirs)) }
}

async function timed(ask: () => Promise<string>, coreSeconds: () => number): Promise<Timed> {
  const before = coreSeconds()
  const startedAt = performance.now()
  const body = await ask()
  const ms = performance.now() - startedAt
  return { ms, coreMs: (coreSeconds() - before) * 1_000, body }
}

interface PeerResult {
  readonly figures: readonly { readonly name: string; readonly ratio: Spread }[]
}

/** Of processor time the mean: its clock is coarser than an answer. */
function figuresOf(timed: readonly Timed[]) {
  const ms = timed.map((one) => one.ms)
  const core = timed.reduce((sum, { coreMs }) => sum + coreMs, 0) / timed.length
  return { p50: quantile(ms, 0.5), p99: quantile(ms, 0.99), core }
}

function report(
  { checkout, rows, repeats, rounds }: PeerOptions,
  version: string,
  figures: readonly Figure[],
  admitted: readonly Admitted[],
): void {
  const file = join(checkout, 'bench', 'results', 'peer.json')
  const before = readResult<PeerResult>(file)
  const shown = figures.map(({ name, barMs, ours, theirs }) => ({
    name,
    bar_ms: barMs,
    ours_ms: figuresOf(ours),
    postgres_ms: figuresOf(theirs),
    ratio: pairedRatio(
      ours.map(({ ms }) => ms),
      theirs.map(({ ms }) => ms),
    ),
  }))
  const rates = (name: keyof Admitted): readonly number[] => admitted.map((round) => round[name])
  const admission = {
    accepted_per_s: quantile(rates('accepted_per_s'), 0.5),
    readable_per_s: quantile(rates('readable_per_s'), 0.5),
    copied_per_s: quantile(rates('copied_per_s'), 0.5),
    accepted_to_copied: pairedRatio(rates('accepted_per_s'), rates('copied_per_s')),
    readable_to_copied: pairedRatio(rates('readable_per_s'), rates('copied_per_s')),
  }
  writeResult(file, {
    question: 'the product beside a Postgres table with six indexes: the same calls, the same answers, in turn',
    provenance: provenance(checkout),
    postgres: version,
    load: { rows, repeats, rounds, calls_per_round: CALLS_PER_ROUND },
    figures: shown,
    admission,
  })
  const lines = shown.map(({ name, bar_ms: barMs, ours_ms: ours, postgres_ms: theirs, ratio }) => [
    name,
    ...[ours, theirs].flatMap(({ p50, p99, core }) => [p50, p99, core].map((ms) => ms.toFixed(1))),
    ratio.median.toFixed(2),
    before?.figures.find((figure) => figure.name === name)?.ratio.median.toFixed(2) ?? '-',
    barMs === undefined ? '' : `${barMs}${ours.p50 <= barMs ? '' : ', missed'}`,
  ])
  const head = [
    'ms',
    'p50',
    'p99',
    'core',
    'Postgres p50',
    'p99',
    'core',
    'ours ÷ Postgres',
    'before',
    'bar of our p50',
  ]
  const ratios = [admission.accepted_to_copied, admission.readable_to_copied]
  const rate = (value: number): string => Math.round(value).toLocaleString('en')
  process.stdout.write(
    `\n${rows.toLocaleString('en')} records, Postgres ${version}\n\n${table([head, ...lines])}\n` +
      `  new calls per s: accepted ${rate(admission.accepted_per_s)}, readable ${rate(admission.readable_per_s)}, ` +
      `copied into Postgres ${rate(admission.copied_per_s)}; ` +
      `÷ COPY ${ratios.map(({ median }) => median.toFixed(2)).join(' and ')}\n`,
  )
}
