import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { KV } from '@nats-io/kv'
import { DEFAULT_SETTINGS } from '../../internal/auth/tenant.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { newJob, type StoredJob } from '../../internal/exports/export-job.js'
import { type ExportBody, readRequest } from '../../internal/exports/export-request.js'
import { isQueuedIn, jobQueue } from '../../internal/exports/queue.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { connectStore } from '../../internal/store/client.js'
import { JOBS, TENANTS } from '../../streams/buckets.js'
import { processSeconds } from '../cpu-time.js'
import { type Ground, prepareGround, roleEnv, startStore } from '../ingest/servers.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import type { Processes } from '../processes.js'
import { readResult, writeResult } from '../results.js'
import { pairedRatio, type Spread, spread } from '../statistics.js'
import { table } from '../table.js'
import { type Grain, HAND_WRITTEN, type Read, runByHand } from './hand-written.js'
import { BENCH_TENANT, makeRecords } from './records.js'

/**
 * Question: what does a chargeback file cost on top of the one SELECT that somebody would write instead?
 *
 * Of the same records: the time of a hand-written `SELECT ... GROUP BY ... FORMAT CSV` whose answer is read and thrown
 * away, ÷ the time of an export job from its order to its end: groups folded, read as of a snapshot, sorted, packed, on
 * the disk, with digest and manifest. At the default grain, and by day and meter with over a million rows out.
 * Beside it: the most memory that the exporter has taken, and whether a job whose exporter is killed half-way comes to
 * the same file.
 */
export interface ExportsOptions {
  readonly checkout: string
  readonly natsServerBin: string
  readonly repeats: number
  readonly records: number
}

const BAR = 0.6
/** While groups are formed, and while rows are written. */
const KILLED_AT = [25, 75]

const BODIES: Readonly<Record<Grain, Partial<ExportBody>>> = {
  'default grain': {},
  'day and meter': { group_by: ['owner', 'service', 'served_model', 'day', 'meter'] },
}

interface GrainResult {
  readonly rows: number
  readonly file_bytes: number
  readonly by_hand_ms: Spread
  readonly export_ms: Spread
  readonly ratio: Spread
  /** Time on a processor, of all processes that take part: what neighbours on the machine do not move. */
  readonly by_hand_core_ms: Spread
  readonly export_core_ms: Spread
  readonly core_ratio: Spread
}

type Timed<T> = T & { readonly coreMs: number }

interface ExportsResult {
  readonly grains: Readonly<Record<Grain, GrainResult>>
  readonly exporter_peak_bytes: number
}

/** @param signal when it is aborted, everything that was started is stopped */
export const exportsQuestion = (options: ExportsOptions, signal: AbortSignal): Promise<void> =>
  privateRun(options.checkout, 'exports', signal, (folder, processes) => answer(options, folder, processes))

async function answer(
  { checkout, natsServerBin, repeats, records }: ExportsOptions,
  folder: string,
  processes: Processes,
) {
  const ground = await prepareGround(folder, natsServerBin, processes)
  const storePort = await freePort()
  const storePid = await startStore(ground, storePort)
  const url = `http://127.0.0.1:${storePort}`
  const account = { url, user: 'attribution', password: ground.storePassword }
  const store = connectStore({ ...account, database: 'attribution', silenceMsMax: 60 * 60_000 })
  const bench = await Bench.open(ground, url, storePid)
  try {
    process.stderr.write(`making ${records.toLocaleString('en')} records\n`)
    const bytes = await makeRecords(store, records)
    process.stderr.write(`made: ${Math.round(bytes / 1024 ** 2)} MiB\n`)
    const grains = {} as Record<Grain, GrainResult>
    for (const grain of Object.keys(HAND_WRITTEN) as Grain[]) {
      const [byHand, exported]: [Timed<Read>[], Timed<Exported>[]] = [[], []]
      for (let i = -1; i < repeats; i++) {
        const [alone, ours] = [
          await bench.timed(() => runByHand(store, grain)),
          await bench.timed(() => bench.exported(grain)),
        ]
        const said = ({ ms, coreMs }: { readonly ms: number; readonly coreMs: number }): string =>
          `${Math.round(ms)} ms (core ${coreMs} ms)`
        process.stderr.write(`${grain}: by hand ${said(alone)}, export ${said(ours)}\n`)
        if (i < 0) continue // the first one warms up
        byHand.push(alone)
        exported.push(ours)
      }
      const { rows = 0, fileBytes = 0 } = exported[0] ?? {}
      grains[grain] = {
        rows,
        file_bytes: fileBytes,
        by_hand_ms: spread(byHand.map(({ ms }) => ms)),
        export_ms: spread(exported.map(({ ms }) => ms)),
        by_hand_core_ms: spread(byHand.map(({ coreMs }) => coreMs)),
        export_core_ms: spread(exported.map(({ coreMs }) => coreMs)),
        core_ratio: pairedRatio(
          byHand.map(({ coreMs }) => coreMs),
          exported.map(({ coreMs }) => coreMs),
        ),
        ratio: pairedRatio(
          byHand.map(({ ms }) => ms),
          exported.map(({ ms }) => ms),
        ),
      }
    }
    const peak = bench.peakBytes()
    await bench.requireSameAfterKill()
    report(
      join(checkout, 'bench', 'results', 'exports.json'),
      { grains, exporter_peak_bytes: peak },
      records,
      repeats,
      provenance(checkout),
    )
  } finally {
    await bench.close()
    await store.close()
  }
}

interface Exported {
  readonly ms: number
  readonly rows: number
  readonly fileBytes: number
  readonly sha256: string
}

/** An exporter, and jobs for it. */
class Bench {
  private readonly ground: Ground
  private readonly env: Record<string, string>
  private readonly storePid: number
  private readonly jobs: KV
  private readonly enqueue: (job: StoredJob) => Promise<void>
  private exporter: ChildProcess
  /** Of exporters that were killed. */
  private peakBefore = 0

  private constructor(ground: Ground, storeUrl: string, storePid: number, jobs: KV) {
    this.storePid = storePid
    this.ground = ground
    this.env = roleEnv(ground, storeUrl)
    this.jobs = jobs
    // The exporter that ended the last job may have queued this one already.
    this.enqueue = jobQueue(createPublisher(ground.broker.connection).publish, isQueuedIn(ground.broker))
    this.exporter = this.launch()
  }

  static async open(ground: Ground, storeUrl: string, storePid: number): Promise<Bench> {
    const tenant = { id: BENCH_TENANT, name: 'Bench', created_at: new Date().toISOString(), settings: DEFAULT_SETTINGS }
    await (await ground.broker.bucket(TENANTS)).put(BENCH_TENANT, JSON.stringify(tenant))
    return new Bench(ground, storeUrl, storePid, await ground.broker.bucket(JOBS))
  }

  /** Ends with this process: it has its stdin. */
  private launch(): ChildProcess {
    const main = fileURLToPath(new URL('../../cmd/exporter/main.js', import.meta.url))
    return spawn(process.execPath, [main], { env: this.env, stdio: ['pipe', 'ignore', 'inherit'] })
  }

  /** Runs an action and adds its processor time: of the store, the exporter, and the hand-written reader. */
  async timed<T>(work: () => Promise<T>): Promise<Timed<T>> {
    const core = (): number =>
      [this.storePid, this.exporter.pid ?? -1, process.pid].reduce(
        (total, pid) => total + (processSeconds(pid) ?? 0),
        0,
      )
    const before = core()
    const done = await work()
    return { ...done, coreMs: Math.round((core() - before) * 1_000) }
  }

  peakBytes(): number {
    const status = readFileSync(`/proc/${this.exporter.pid}/status`, 'utf8')
    return Math.max(this.peakBefore, Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024)
  }

  async exported(grain: Grain, onStep: (job: StoredJob) => void = () => undefined): Promise<Exported> {
    const read = readRequest(
      { format: 'focus', period: { from: '2026-10-01', to: '2026-10-31' }, ...BODIES[grain] },
      Date.now(),
    )
    if (!read.ok) throw new Error('the order is not valid')
    const id = `job_${randomUUID().replaceAll('-', '')}`
    const job = newJob(id, BENCH_TENANT, 'bench', read.request, Date.now())
    const startedAt = performance.now()
    await this.jobs.create(job.id, JSON.stringify(job))
    await this.enqueue(job)
    let endedMs: number | undefined
    for await (const entry of await this.jobs.watch({ key: job.id })) {
      const now = entry.json<StoredJob>()
      onStep(now)
      if (now.status === 'failed') throw new Error(`the export failed: ${now.failure}`)
      if (now.status === 'succeeded') endedMs ??= performance.now() - startedAt
      // Remove the staged groups before the next measurement.
      if (now.result === null || endedMs === undefined || !now.is_cleared) continue
      return { ms: endedMs, rows: now.result.rows, fileBytes: now.result.file.bytes, sha256: now.result.file.sha256 }
    }
    throw new Error('the watch ended')
  }

  /** @throws Error when a job whose exporter is killed half-way comes to another file */
  async requireSameAfterKill(): Promise<void> {
    const undisturbed = await this.exported('day and meter')
    let kills = 0
    const killed = await this.exported('day and meter', ({ percent, status }) => {
      if (status !== 'running' || percent < (KILLED_AT[kills] ?? 101)) return
      kills++
      this.peakBefore = this.peakBytes()
      this.exporter.kill('SIGKILL')
      this.exporter = this.launch()
    })
    if (killed.sha256 !== undisturbed.sha256) throw new Error('after kill -9 the file is another one')
    process.stderr.write(`killed ${kills} times: the same file, ${killed.sha256}\n`)
  }

  async close(): Promise<void> {
    const ended = once(this.exporter, 'exit')
    this.exporter.stdin?.end()
    await ended
    await this.ground.broker.close()
  }
}

function report(
  file: string,
  result: ExportsResult,
  records: number,
  repeats: number,
  from: ReturnType<typeof provenance>,
): void {
  const before = readResult<ExportsResult>(file)
  writeResult(file, {
    question: 'a hand-written SELECT ... GROUP BY ... FORMAT CSV ÷ an export of the same rows',
    provenance: from,
    records,
    repeats,
    bar: BAR,
    ...result,
    same_file_after_kill: true,
  })
  const seconds = ({ median }: Spread): string => (median / 1_000).toFixed(2)
  const peakMib = Math.round(result.exporter_peak_bytes / 1024 ** 2)
  process.stdout.write(
    `\n${records.toLocaleString('en')} records; time by hand ÷ time of the export, bar ${BAR}; ` +
      `exporter at most ${peakMib} MiB\n\n${table([
        ['', 'rows', 'file MiB', 'by hand s', 'export s', 'min', 'median', 'max', 'before', 'by core time'],
        ...(Object.entries(result.grains) as [Grain, GrainResult][]).map(
          ([grain, { rows, file_bytes, by_hand_ms, export_ms, ratio, core_ratio }]) => [
            grain,
            rows.toLocaleString('en'),
            (file_bytes / 1024 ** 2).toFixed(1),
            seconds(by_hand_ms),
            seconds(export_ms),
            ...[ratio.min, ratio.median, ratio.max].map((value) => value.toFixed(2)),
            before?.grains[grain]?.ratio.median.toFixed(2) ?? '-',
            core_ratio.median.toFixed(2),
          ],
        ),
      ])}`,
  )
}
