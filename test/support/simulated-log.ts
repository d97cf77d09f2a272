/**
 * Histories of a planned log, each under a seed: processes that believe at any time to own it, die, stand still, lose
 * answers and have clocks that differ. At the end each message has taken effect once, and no snapshot that was taken on
 * the way was incomplete.
 *
 * Run it compiled: node dist/test/support/simulated-log.js <first seed> <histories> [<breakage>]
 */
import type { Progress } from '../../internal/broker/checkpoint.js'
import type { PlannedLog, PlannedLogDeps } from '../../internal/broker/planned-log.js'
import type { Random } from '../../internal/local/sandbox/random.js'
import { runHistories } from './histories.js'
import { installVirtualTime } from './virtual-time.js'

// Before all else is imported, which then has these timers.
const time = installVirtualTime(Date.UTC(2026, 0, 1))
const { setTimeout: sleep } = await import('node:timers/promises')
const { runPlannedLog } = await import('../../internal/broker/planned-log.js')
const { createLog } = await import('../../internal/telemetry/log.js')
const { FENCE } = await import('../../streams/records.js')
const { seededRandom } = await import('../../internal/local/sandbox/random.js')
const { Network, SimulatedBucket, SimulatedProcess, SimulatedStream, SimulatedTable } = await import(
  './simulated-broker.js'
)
type SimulatedRow = import('./simulated-broker.js').SimulatedRow
type Process = InstanceType<typeof SimulatedProcess>

const log = createLog('test', 'silent')
const KEY = 'a.0'
const MESSAGES = 12
const PROCESSES = 3
const FAULTS_MS = 12_000
/** Virtual. */
const DONE_MS_MAX = 600_000

/** Ways to break the log or the sink, each of which must be found. */
type Breakage = 'no token' | 'done before it is stored' | 'a stored row means all'

interface Snapshot {
  readonly instantMs: number
  readonly rows: number
}

class History {
  readonly stream = new SimulatedStream()
  readonly table = new SimulatedTable()
  readonly bucket = new SimulatedBucket()
  readonly snapshots: Snapshot[] = []
  private readonly random: Random
  private readonly network: InstanceType<typeof Network>
  private readonly breakage: Breakage | undefined
  private readonly processes: Process[] = []

  constructor(seed: number, breakage: Breakage | undefined) {
    this.random = seededRandom(String(seed))
    this.network = new Network(this.random)
    this.breakage = breakage
  }

  /** @returns what is wrong; undefined: nothing */
  async run(): Promise<string | undefined> {
    const endsAtMs = Date.now() + FAULTS_MS
    for (let i = 0; i < PROCESSES; i++) this.start()
    await Promise.all([this.produce(), this.breakThings(endsAtMs), this.takeSnapshots(endsAtMs)])

    this.network.isFaulty = false
    for (const process of this.processes) process.isOwner = false
    this.start().isOwner = true
    const deadlineMs = Date.now() + DONE_MS_MAX
    while (!this.isDone() && Date.now() < deadlineMs) await sleep(100)
    // What a process had sent before it stopped or died may still arrive.
    await sleep(60_000)
    for (const process of this.processes) process.kill()
    return this.isDone() ? this.check() : `not done: ${JSON.stringify(this.bucket.get(KEY))}`
  }

  private isDone(): boolean {
    const { done = 0, plan } = this.checkpoint() ?? {}
    return done === this.stream.messages.length && plan === undefined
  }

  private checkpoint(): Progress | undefined {
    const entry = this.bucket.get(KEY)
    return entry && (JSON.parse(entry.text) as Progress)
  }

  private check(): string | undefined {
    const { rows } = this.table
    for (const { sequence } of this.stream.messages) {
      const count = rows.filter((row) => row.sequence === sequence).length
      if (count !== 1) return `message ${sequence} is stored ${count} times`
    }
    for (const { instantMs, rows: then } of this.snapshots) {
      const now = rowsAt(rows, instantMs)
      if (now !== then) return `a snapshot of ${instantMs} had ${then} rows, and has ${now} now`
    }
    return undefined
  }

  private start(): Process {
    const process = new SimulatedProcess()
    this.processes.push(process)
    const skewMs = (this.random.share() - 0.5) * 2_000
    const deps: PlannedLogDeps = {
      checkpoints: this.bucket.asSeenBy(process, this.network),
      readLog: (range) => this.network.send(process, () => this.stream.read(range)),
      nextArrival: () => ({ within: (ms) => sleep(ms, false), stop: () => undefined }),
      isOwner: () => process.isOwner,
      readFence: () => this.network.send(process, () => this.fencedMs()),
      clock: () => Math.round(Date.now() + skewMs),
      log,
    }
    void runPlannedLog(this.log(process), deps, process.stopping.signal)
    return process
  }

  private log(process: Process): PlannedLog<Progress> {
    const store = (shard: 0 | 1, rows: readonly SimulatedRow[], token: string): Promise<void> =>
      this.network.send(process, () => this.table.insert(shard, rows, this.breakage === 'no token' ? undefined : token))
    return {
      key: KEY,
      stream: 'LOG',
      subject: 'log',
      initial: { done: 0 },
      messagesMax: 3,
      open: async () => async (entries, extent, _before, planned) => {
        const rows = entries.map(({ sequence }) => ({ sequence, atMs: extent.atMs }))
        const token = `${extent.first}-${extent.last}`
        const apply = async (): Promise<void> => {
          const isStored = ({ sequence, atMs }: SimulatedRow): boolean =>
            this.table.rows.some((row) => row.sequence === sequence && row.atMs === atMs)
          if (this.breakage === 'a stored row means all' && planned !== undefined && rows.some(isStored)) return
          await store(0, rows, token)
          await store(1, rows, token)
        }
        return {
          plan: extent,
          after: { done: extent.last },
          size: entries.length,
          inserts: true,
          applyEffects: async () => {
            if (this.breakage === 'done before it is stored') void apply().catch(() => undefined)
            else await apply()
          },
        }
      },
    }
  }

  private async produce(): Promise<void> {
    for (let i = 0; i < MESSAGES; i++) {
      await sleep(this.random.share() * 1_000)
      this.stream.append()
    }
  }

  /** Owners change, processes die and stand still. */
  private async breakThings(endsAtMs: number): Promise<void> {
    while (Date.now() < endsAtMs) {
      await sleep(this.random.share() * 600)
      const process = this.random.pick(this.processes)
      const dice = this.random.share()
      if (dice < 0.6) process.isOwner = !process.isOwner
      else if (dice < 0.8) process.frozenUntilMs = Date.now() + this.random.share() * 30_000
      else if (!process.isDead) {
        process.kill()
        this.start()
      }
    }
  }

  private fencedMs(): number {
    const entry = this.bucket.get(FENCE)
    return entry === undefined ? 0 : (JSON.parse(entry.text) as { readonly fencedMs: number }).fencedMs
  }

  /** As `broker/watermark.ts`: a fence, and then what the checkpoints say. */
  private async takeSnapshots(endsAtMs: number): Promise<void> {
    while (Date.now() < endsAtMs) {
      await sleep(this.random.share() * 400)
      const entry = this.bucket.get(FENCE)
      const { doneMs = 0 } = this.checkpoint() ?? {}
      const fencedMs = Math.max(Date.now(), doneMs, this.fencedMs())
      this.bucket.put(FENCE, JSON.stringify({ fencedMs }), entry?.revision ?? 0)
      const { plan, reservedMs } = this.checkpoint() ?? {}
      const openMs = plan?.atMs ?? reservedMs
      const instantMs = openMs === undefined ? fencedMs : Math.min(fencedMs, openMs - 1)
      const newest = this.snapshots.at(-1)?.instantMs ?? 0
      // Instants never fall: one that was complete stays so.
      if (instantMs > newest) this.snapshots.push({ instantMs, rows: rowsAt(this.table.rows, instantMs) })
    }
  }
}

const rowsAt = (rows: readonly SimulatedRow[], instantMs: number): number =>
  rows.filter(({ atMs }) => atMs <= instantMs).length

await runHistories<Breakage>(time, (seed, breakage) => new History(seed, breakage).run())
