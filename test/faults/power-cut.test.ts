import { randomInt, randomUUID } from 'node:crypto'
import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { expect, test } from 'vitest'
import { connectService } from '../../internal/local/replay/client.js'
import type { Credentials } from '../../internal/local/supervisor/bootstrap.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { isAlive } from '../support/alive.js'
import { askAs } from '../support/ask.js'
import { launchCluster } from '../support/cluster.js'
import { type CutDisk, makeCutDisk, noCutDisk } from '../support/faults/cut-disk.js'
import { untilWorkedOff } from '../support/faults/worked-off.js'
import { sendTo, wireEvent } from '../support/gateway.js'
import { CLI_MAIN, command, connectTo } from '../support/instance.js'
import { type Launched, launch } from '../support/processes.js'
import { privateDataDir, UP_MAIN, upArgs } from '../support/service.js'
import { allRecords, hundredMillionths } from '../support/trace.js'

/** A cut takes half a minute. ATTRIBUTION_TEST_ROUNDS=50 takes half an hour. */
const CUTS = Number(process.env['ATTRIBUTION_TEST_ROUNDS'] ?? 4)
const CALLERS = 6
const BULK = 40
const LOAD_MS_MAX = 6_000
/** Every third cut comes so early that the instance may still be starting. */
const START_MS_MAX = 4_000
/** So long after it was begun, a backup or an export may be cut. */
const MEANWHILE_MS_MAX = 1_500
/** Brokers on images of images are slow: so long without a new record, nothing more is to come. */
const NO_RECORD_MS_MAX = 30_000
/** Of what fifty cuts have left to do, on a machine that is busy. */
const WORKED_OFF_MS_MAX = 600_000
/** Of each call of gpt-4o-mini, in 1e-8 USD: 100 tokens at 0.15 and 10 at 0.60 USD per million. */
const CALL_COST = 2_100n

const reason = noCutDisk()
if (reason !== undefined) console.log(`power cuts are not tried: ${reason}`)

/** The processes that have the disk as their folder of data, by what they were started with. */
function processesOn(folder: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid && commandOf(pid).includes(folder))
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') + readFileSync(`/proc/${pid}/environ`, 'utf8')
  } catch {
    return ''
  }
}

interface Answer {
  readonly invocation_id: string
  /** Of a request with many events. */
  readonly results?: readonly { readonly invocation_id: string }[]
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ESRCH') throw cause
  }
}

class Calls {
  /** Ids of calls that were accepted before the power was cut. */
  readonly accepted = new Set<string>()
  private readonly agent = new Agent({ connections: CALLERS })
  private isOver = false

  /** Sends until the power is cut. */
  async load(port: number, apiKey: string): Promise<void> {
    this.isOver = false
    await Promise.all(Array.from({ length: CALLERS }, (_, i) => this.caller(port, apiKey, i === 0)))
  }

  stop(): void {
    this.isOver = true
  }

  private async caller(port: number, apiKey: string, sendsMany: boolean): Promise<void> {
    while (!this.isOver) {
      const events = Array.from({ length: sendsMany ? BULK : 1 }, () => wireEvent())
      const body = JSON.stringify(sendsMany ? events : events[0])
      const answer = await sendTo(this.agent, port, apiKey, body, randomUUID())
      // An answer after the cut promises nothing: what it speaks of is on a disk that is gone.
      if (answer?.status !== 202 || this.isOver) continue
      const { results, invocation_id } = JSON.parse(answer.text) as Answer
      for (const id of results?.map((each) => each.invocation_id) ?? [invocation_id]) this.accepted.add(id)
      await sleep(10)
    }
  }

  close(): Promise<void> {
    return this.agent.close()
  }
}

interface Started {
  readonly up: Launched
  readonly apiKey: string
  readonly tenantId: string
}

async function start(dataDir: string, port: number, args: readonly string[] = []): Promise<Started> {
  const up = launch(UP_MAIN, {
    args: [...upArgs(dataDir, port, ['exporter'], 'power'), '--rate-read', '1000000', ...args],
  })
  await up.line(/is ready/)
  const text = readFileSync(join(dataDir, 'credentials.json'), 'utf8')
  const { api_key: apiKey, tenant_id: tenantId } = JSON.parse(text) as Credentials
  return { up, apiKey, tenantId }
}

async function cutPower(disk: CutDisk, calls: Calls): Promise<void> {
  disk.cut()
  calls.stop()
  // One that is killed may have started another meanwhile.
  for (let pids = processesOn(disk.folder); pids.length > 0; pids = processesOn(disk.folder)) {
    for (const pid of pids) kill(pid)
    await sleep(20)
  }
}

/** What is under way when the power is cut, in turn. The engine merges in any case, since rows come. */
const MEANWHILE = ['ingest alone', 'a backup', 'an export'] as const

/** Exports that were ordered: each was answered with a 202. */
class Orders {
  private readonly ids: string[] = []

  async order(port: number, apiKey: string): Promise<void> {
    const day = new Date().toISOString().slice(0, 10)
    const body = { format: 'focus', period: { from: day, to: day } }
    const answer = await askOf(port, apiKey)('POST', '/v1/exports/focus', body, { 'idempotency-key': randomUUID() })
    // Of an instance that has no record yet, nothing can be exported.
    if (answer.status === 202) this.ids.push(answer.json.job_id)
  }

  /** Of each. */
  async ends(port: number, apiKey: string): Promise<string[]> {
    const ask = askOf(port, apiKey)
    const end = async (id: string): Promise<string> => {
      for (;;) {
        const { status, json } = await ask('GET', `/api/v1/jobs/${id}`)
        const isOver = status !== 200 || (json.status !== 'queued' && json.status !== 'running')
        if (isOver) return `${status} ${json.status}`
        await sleep(200)
      }
    }
    return await Promise.all(this.ids.map(end))
  }
}

const askOf = (port: number, apiKey: string) => askAs(`http://127.0.0.1:${port}`, { 'x-api-key': apiKey })

/** Appends the beginning of a message to the last block of each stream: one that the broker was about to write. */
function tearEnds(dataDir: string): void {
  for (const name of readdirSync(join(dataDir, 'nats'), { recursive: true, encoding: 'utf8' })) {
    const [, streamMessages, block] = /^(.*\/msgs)\/(\d+)\.blk$/.exec(name) ?? []
    if (streamMessages === undefined) continue
    const folder = join(dataDir, 'nats', streamMessages)
    const blocks = readdirSync(folder).filter((file) => file.endsWith('.blk'))
    if (Math.max(...blocks.map((file) => Number.parseInt(file, 10))) !== Number(block)) continue
    const bytes = readFileSync(join(dataDir, 'nats', name))
    // A record begins with its length; the highest bit says whether it has headers.
    const length = bytes.length < 4 ? 0 : bytes.readUInt32LE(0) & 0x7fffffff
    if (length > 1) appendFileSync(join(dataDir, 'nats', name), bytes.subarray(0, randomInt(1, length)))
  }
}

test.skipIf(reason !== undefined)(
  'after each power cut the instance starts at once, and each 202 is one record',
  { timeout: 120_000 * CUTS },
  async () => {
    const disk = makeCutDisk()
    const dataDir = join(disk.folder, 'data')
    const calls = new Calls()
    const orders = new Orders()
    const backups = privateDataDir()
    const backup = ['backup', 'create', '--data-dir', dataDir, '--to', backups]
    const port = await freePort()
    for (let cut = 0; cut < CUTS; cut++) {
      if (cut % 3 === 2) {
        // Of a start that is not over, nothing is known but that the next one works.
        const up = launch(UP_MAIN, { args: upArgs(dataDir, port, ['exporter'], 'power') })
        await sleep(randomInt(START_MS_MAX))
        await cutPower(disk, calls)
        await up.exited
        await disk.mountAgain()
      }
      const { up, apiKey } = await start(dataDir, port)
      const meanwhile = MEANWHILE[cut % MEANWHILE.length]
      const load = calls.load(port, apiKey)
      await sleep(randomInt(LOAD_MS_MAX))
      const others: Promise<unknown>[] = []
      if (meanwhile === 'a backup') others.push(launch(CLI_MAIN, { args: backup }).exited)
      if (meanwhile === 'an export') await orders.order(port, apiKey)
      if (meanwhile !== 'ingest alone') await sleep(randomInt(MEANWHILE_MS_MAX))
      await cutPower(disk, calls)
      await Promise.all([load, up.exited, ...others])
      await disk.mountAgain()
      if (cut % 2 === 1) tearEnds(dataDir)
      console.log(`cut ${cut + 1}, during ${meanwhile}: ${calls.accepted.size} calls accepted so far`)
    }

    const started = await start(dataDir, port)
    await expectOneRecordEach(calls, dataDir, port, started)
    expect(new Set(await orders.ends(port, started.apiKey))).toEqual(new Set(['200 succeeded']))
    expect((await launch(CLI_MAIN, { args: backup }).exited).code).toBe(0)
    await calls.close()
    await started.up.kill('SIGTERM')
  },
)

/** A disk that acknowledges a flush and does not make it is, for a broker, as if it did not sync. */
test.skipIf(reason !== undefined).each([
  { of: 'one of three brokers', syncs: () => true, next: () => randomInt(3) },
  { of: 'the one of three brokers whose disk lies', syncs: (server: number) => server !== 0, next: () => 0 },
])(
  'while the power of $of is cut, again and again, each 202 is one record',
  { timeout: 120_000 * CUTS },
  async ({ syncs, next }) => {
    const disks = [0, 1, 2].map(() => makeCutDisk())
    const cluster = await launchCluster({ diskOf: (server) => (disks[server] as CutDisk).folder, syncs })
    const [dataDir, port, calls] = [privateDataDir(), await freePort(), new Calls()]
    const started = await start(dataDir, port, ['--nats-url', cluster.url, '--stream-replicas', '3'])
    const load = calls.load(port, started.apiKey)
    for (let cut = 0; cut < CUTS; cut++) {
      await sleep(randomInt(LOAD_MS_MAX))
      const broker = next()
      disks[broker]?.cut()
      await cluster.kill(broker)
      await disks[broker]?.mountAgain()
      cluster.start(broker)
      while (!isAlive(cluster.pid(broker))) await sleep(20)
      // A second one would leave no majority, and nothing is accepted then.
      await untilAccepting(calls)
      console.log(`cut ${cut + 1}: ${calls.accepted.size} calls accepted so far`)
    }
    calls.stop()
    await load
    await expectOneRecordEach(calls, dataDir, port, started)
    await calls.close()
    await started.up.kill('SIGTERM')
  },
)

async function untilAccepting({ accepted }: Calls): Promise<void> {
  const before = accepted.size
  while (accepted.size < before + BULK) await sleep(50)
}

async function expectOneRecordEach(
  calls: Calls,
  dataDir: string,
  port: number,
  { apiKey, tenantId }: Started,
): Promise<void> {
  const broker = await connectTo({ dataDir })
  console.log(await untilWorkedOff(broker, WORKED_OFF_MS_MAX))
  await broker.close()
  const client = connectService(`http://127.0.0.1:${port}`, apiKey, 16)
  const idsOf = async (): Promise<string[]> => (await allRecords(client)).map(({ invocation_id }) => invocation_id)
  // Reports read sums that the inserts of records keep.
  const totalOf = async () =>
    (await askOf(port, apiKey)('GET', '/v1/reports/usage?from=2026-11-01T00:00:00Z')).json.data[0]
  let [ids, total] = [await idsOf(), await totalOf()]
  // What was under way at the end, and is not counted as accepted, may become a record between the two.
  const isOver = (): boolean => missing(calls.accepted, ids).length === 0 && total?.calls === ids.length
  for (let [last, lastAt] = [ids.length, performance.now()]; !isOver(); ) {
    await sleep(500)
    ;[ids, total] = [await idsOf(), await totalOf()]
    if (ids.length > last) [last, lastAt] = [ids.length, performance.now()]
    if (performance.now() - lastAt > NO_RECORD_MS_MAX) break
  }
  expect(missing(calls.accepted, ids)).toEqual([])
  expect(ids.length).toBe(new Set(ids).size)
  expect(total?.calls).toBe(ids.length)
  expect(hundredMillionths(total.cost_usd)).toBe(BigInt(ids.length) * CALL_COST)
  const verified = await command({ dataDir }, ['audit', 'verify', '--tenant', tenantId])
  expect([verified.code, verified.lines.at(-1)]).toEqual([0, 'intact'])
  await client.close()
}

const missing = (accepted: ReadonlySet<string>, ids: readonly string[]): string[] => {
  const there = new Set(ids)
  return [...accepted].filter((id) => !there.has(id))
}
