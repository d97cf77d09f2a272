import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { INVOCATIONS } from '../../streams/invocations.js'
import { openLoopGenerator } from '../ingest/open-loop.js'
import { writeRequests } from '../ingest/requests.js'
import { type Ground, keyHeader, prepareGround, startAttributor, startGateway, startStore } from '../ingest/servers.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import type { Processes } from '../processes.js'
import { writeResult } from '../results.js'
import { table } from '../table.js'

/**
 * Question: does anything grow without bound?
 *
 * Events at a constant rate through gateway, broker, attributor and store. Half-way the broker stops for ten
 * seconds, so that the spool fills and is drained. Memory and open files of each process, bytes of the spool and of the
 * log are read each ten seconds. What may grow with the number of events is the admission index, up to its own limit:
 * 96 bytes per event: a key and an event id.
 */
export interface SoakOptions {
  readonly checkout: string
  readonly natsServerBin: string
  readonly minutes: number
  /** Events a second. */
  readonly rate: number
}

const EVERY_MS = 10_000
const SLICE_SECONDS = 30
const CONNECTIONS = 64
const STANDSTILL_MS = 10_000

interface Sample {
  readonly at_s: number
  readonly rss_mb: Readonly<Record<string, number>>
  readonly open_files: Readonly<Record<string, number>>
  readonly spool_bytes: number
  readonly log_bytes: number
}

export const soak = (options: SoakOptions, signal: AbortSignal): Promise<void> =>
  privateRun(options.checkout, 'soak', signal, (folder, processes) => answer(options, folder, processes))

async function answer(options: SoakOptions, folder: string, processes: Processes): Promise<void> {
  const { checkout, natsServerBin, minutes, rate } = options
  const ground = await prepareGround(folder, natsServerBin, processes)
  const storePort = await freePort()
  const storePid = await startStore(ground, storePort)
  const gateway = await startGateway(ground, `http://127.0.0.1:${storePort}`)
  const attributorPid = await startAttributor(ground, storePort)
  const requestsFile = join(folder, 'requests.txt')
  writeRequests(requestsFile, keyHeader(ground), Date.now())
  const pids = { gateway: gateway.pid, attributor: attributorPid, broker: ground.brokerPid, store: storePid }

  const generator = openLoopGenerator(requestsFile, processes, rate)
  const startedAt = performance.now()
  const endsAt = startedAt + minutes * 60_000
  const samples: Sample[] = []
  let accepted = 0
  const load = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      const run = await generator.run({
        port: gateway.port,
        connections: CONNECTIONS,
        seconds: SLICE_SECONDS,
        pauseMs: 0,
      })
      accepted += run.accepted
      process.stderr.write(`${accepted} events, p99 ${(run.p99Us / 1_000).toFixed(1)} ms\n`)
    }
  }
  const watch = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      samples.push(await sample(pids, ground, Math.round((performance.now() - startedAt) / 1_000)))
      await sleep(EVERY_MS)
    }
  }
  const standStill = async (): Promise<void> => {
    await sleep((minutes * 60_000) / 2)
    process.kill(ground.brokerPid, 'SIGSTOP')
    await sleep(STANDSTILL_MS)
    process.kill(ground.brokerPid, 'SIGCONT')
  }
  await Promise.all([load(), watch(), standStill()])

  writeResult(join(checkout, 'bench', 'results', 'soak.json'), {
    question: 'does anything grow without bound',
    provenance: provenance(checkout),
    load: { minutes, events_per_s: rate, connections: CONNECTIONS, broker_standstill_ms: STANDSTILL_MS },
    accepted,
    samples,
  })
  const names = Object.keys(pids)
  const rows = samples
    .filter((_, i) => i % Math.max(1, Math.round(60_000 / EVERY_MS)) === 0 || i === samples.length - 1)
    .map(({ at_s, rss_mb, open_files, spool_bytes, log_bytes }) => [
      `${at_s} s`,
      ...names.map((name) => `${rss_mb[name]} / ${open_files[name]}`),
      (spool_bytes / 1e6).toFixed(1),
      (log_bytes / 1e6).toFixed(0),
    ])
  const shown = table([['at', ...names, 'spool', 'log'], ...rows])
  process.stdout.write(`\n${accepted} events accepted. Resident MB / open files; MB of spool and log.\n\n${shown}`)
}

async function sample(pids: Readonly<Record<string, number>>, ground: Ground, atS: number): Promise<Sample> {
  const log = await ground.broker.manager.streams.info(INVOCATIONS.name).catch(() => undefined)
  const each = (read: (pid: number) => number) =>
    Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, read(pid)]))
  return {
    at_s: atS,
    rss_mb: each((pid) =>
      Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024),
    ),
    open_files: each((pid) => readdirSync(`/proc/${pid}/fd`).length),
    spool_bytes: bytesBelow(join(ground.files.dataDir, 'spool')),
    log_bytes: log?.state.bytes ?? Number.NaN,
  }
}

function bytesBelow(folder: string): number {
  let bytes = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) bytes += bytesBelow(path)
    else bytes += statSync(path, { throwIfNoEntry: false })?.size ?? 0
  }
  return bytes
}
