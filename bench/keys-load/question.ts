import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createPublisher } from '../../internal/broker/publisher.js'
import { ADMITTED_KEY_BYTES, SENDER_BYTES } from '../../internal/ingest/keys/admitted-keys.js'
import { nodeFlagsOf } from '../../internal/local/supervisor/processes.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { KEYS, KEYS_SUBJECT } from '../../streams/keys.js'
import { processSeconds } from '../cpu-time.js'
import { type Ground, prepareGround, roleEnv, roleMain, startStore } from '../ingest/servers.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import type { Processes } from '../processes.js'
import { writeResult } from '../results.js'
import { table } from '../table.js'

/**
 * Question: how long does a gateway read KEYS when it starts, and how much memory do the keys take?
 *
 * Bar: with 86 million keys, a day of 1,000 single requests per second, ready in 60 s with 2 GB. A gateway is started
 * before the stream has keys, and another one when it has all. One that is ready may still read.
 */
export interface KeysLoadOptions {
  readonly checkout: string
  readonly natsServerBin: string
  readonly keys: number
  /** Of one message: gateways group the requests that arrive together. */
  readonly perMessage: number
}

const IN_FLIGHT = 512
const PUBLISH_MS_MAX = 10_000
/** As a layout may say; with its default the oldest of so many keys would be dropped. */
const STREAM_BYTES_MAX = 16 * 1024 ** 3
const READY_MS_MAX = 900_000
const LOOK_MS = 20
const IDLE_LOOK_MS = 1_000
/** Of one core. */
const IDLE_SHARE = 0.1

interface Start {
  readonly keys: number
  readonly ready_s: number
  readonly read_s: number
  readonly resident_mb: number
  readonly resident_mb_max: number
}

export const keysLoad = (options: KeysLoadOptions, signal: AbortSignal): Promise<void> =>
  privateRun(options.checkout, 'keys-load', signal, (folder, processes) => answer(options, folder, processes))

async function answer(options: KeysLoadOptions, folder: string, processes: Processes): Promise<void> {
  const { checkout, natsServerBin, keys, perMessage } = options
  const ground = await prepareGround(folder, natsServerBin, processes)
  const storePort = await freePort()
  await startStore(ground, storePort)
  const storeUrl = `http://127.0.0.1:${storePort}`
  const empty = await startAndMeasure(ground, storeUrl, 0)
  await ground.broker.manager.streams.update(KEYS.name, { max_bytes: STREAM_BYTES_MAX })
  await fill(ground, keys, perMessage)
  const { state } = await ground.broker.manager.streams.info(KEYS.name)
  const full = await startAndMeasure(ground, storeUrl, keys)

  writeResult(join(checkout, 'bench', 'results', 'keys-load.json'), {
    question: 'how long does a gateway read KEYS when it starts, and how much memory do the keys take',
    bar: { keys: 86_000_000, ready_s: 60, resident_mb: 2_000 },
    provenance: provenance(checkout),
    load: { keys, keys_per_message: perMessage, stream_mb: state.bytes / 1e6 },
    starts: [empty, full],
  })
  const rows = [empty, full].map((start) => [
    start.keys.toLocaleString('en'),
    start.ready_s.toFixed(1),
    start.read_s.toFixed(1),
    start.resident_mb.toFixed(0),
    start.resident_mb_max.toFixed(0),
  ])
  process.stdout.write(`\n${table([['keys', 'ready after s', 'all read after s', 'MB', 'MB at most'], ...rows])}`)
}

/** Random keys, as many in each message as gateways may group. */
async function fill({ broker }: Ground, keys: number, perMessage: number): Promise<void> {
  const { publish } = createPublisher(broker.connection)
  let left = Math.ceil(keys / perMessage)
  const publishNext = async (): Promise<void> => {
    while (left > 0) {
      if (--left % 1_000_000 === 0) process.stderr.write(`${left} messages left\n`)
      const payload = randomBytes(SENDER_BYTES + perMessage * ADMITTED_KEY_BYTES)
      const { kind } = await publish(KEYS_SUBJECT, payload, '', PUBLISH_MS_MAX)
      if (kind !== 'stored') throw new Error(`a message of keys was not stored: ${kind}`)
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, publishNext))
}

/** Starts a gateway with a port and a data folder of its own. */
async function startAndMeasure(ground: Ground, storeUrl: string, keys: number): Promise<Start> {
  const port = await freePort()
  const dataDir = join(ground.files.dataDir, `gateway-${keys}`)
  mkdirSync(dataDir, { recursive: true })
  const startedAt = performance.now()
  const pid = await ground.processes.start({
    name: `gateway-${keys}`,
    command: process.execPath,
    args: [
      ...nodeFlagsOf('gateway'),
      roleMain('gateway'),
      ...['--port', String(port), '--intake-port', '0', '--data-dir', dataDir],
    ],
    env: roleEnv(ground, storeUrl),
    // What other benches wait for may take longer than they may wait.
    ready: async () => undefined,
  })
  const isReady = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isReady())) {
    if (performance.now() - startedAt > READY_MS_MAX) throw new Error('the gateway is not ready after 15 minutes')
    await sleep(LOOK_MS)
  }
  const readyS = (performance.now() - startedAt) / 1_000
  const readS = (await untilIdle(pid)) - startedAt / 1_000
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const megabytes = (name: string): number =>
    (Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1_024) / 1e6
  return { keys, ready_s: readyS, read_s: readS, resident_mb: megabytes('VmRSS'), resident_mb_max: megabytes('VmHWM') }
}

/** @returns the monotonic time in seconds from which on a process used hardly any processor time */
async function untilIdle(pid: number): Promise<number> {
  for (let before = processSeconds(pid) ?? 0; ; ) {
    const lookedAtMs = performance.now()
    await sleep(IDLE_LOOK_MS)
    const now = processSeconds(pid) ?? 0
    if (now - before < (IDLE_SHARE * (performance.now() - lookedAtMs)) / 1_000) return lookedAtMs / 1_000
    before = now
  }
}
