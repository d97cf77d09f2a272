import { join } from 'node:path'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { INVOCATIONS } from '../../streams/invocations.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import type { Processes } from '../processes.js'
import { readResult, writeResult } from '../results.js'
import { ensureWrk } from './find-wrk.js'
import { compareGateways } from './gateways.js'
import type { LoadGenerator } from './load.js'
import { type Measurement, measure } from './measure.js'
import { nodeGenerator, sendExactly } from './node-load.js'
import { profileGateway } from './profile.js'
import { type IngestResult, printReport, summarise } from './report.js'
import { writeRequests } from './requests.js'
import {
  FASTIFY_STREAM,
  type Ground,
  keyHeader,
  prepareGround,
  type Server,
  type ServerName,
  startAttributor,
  startBareServer,
  startFastifyServer,
  startGateway,
  startStore,
  tokenHeader,
} from './servers.js'
import { checkMessages, StoredEvents } from './stored.js'
import { sweep } from './sweep.js'
import { wrkGenerator } from './wrk.js'

/**
 * Question: what does admission of single events cost on top of HTTP itself, and what does it gain over what a team
 * would write?
 *
 * Bars: events/s of the gateway ÷ of a bare uWebSockets.js server that discards the body ≥ 0.50; ÷ of Fastify with
 * zod and one JetStream publish a request ≥ 5. In light load, p99 at most 5 ms above the bare server's.
 *
 * The gateway runs as deployed, with a real nats-server; the attributor does not, but for one figure beside. Loads
 * on the three servers alternate, and ratios are of neighbours.
 */
export interface IngestOptions {
  readonly checkout: string
  readonly natsServerBin: string
  readonly generator: 'wrk' | 'node'
  readonly repeats: number
  readonly seconds: number
  readonly connections: number
  /** Credential of the requests. */
  readonly credential: 'key' | 'jwt'
  /** Of the private broker. */
  readonly durability: 'power' | 'process'
  /** Instead of measuring: profile the gateway under this load. */
  readonly profile: boolean
  /** Instead of that: the other forms of load, see sweep.ts. */
  readonly sweep: boolean
  /** Instead of that: 1, 2, 4 and 8 gateways, see gateways.ts. */
  readonly gateways: boolean
}

const WARM_UP_SECONDS = 3
const LIGHT_CONNECTIONS = 8
/** Of the gateway's own maximum. */
const LIGHT_SHARE = 0.1
const LIGHT_SECONDS = 2
const ATTRIBUTION_REPEATS = 3
/** Sent one by one before the measurement; each must be a 202 and in the log exactly once. */
const PROOF_EVENTS = 5_000

export const ingest = (options: IngestOptions, signal: AbortSignal): Promise<void> =>
  privateRun(options.checkout, 'ingest', signal, (folder, processes) => answer(options, folder, processes))

function resultOf({ credential, durability }: IngestOptions): string {
  if (credential === 'jwt') return 'ingest-jwt.json'
  return durability === 'process' ? 'ingest-process.json' : 'ingest.json'
}

async function answer(options: IngestOptions, folder: string, processes: Processes): Promise<void> {
  const { checkout, repeats, seconds, connections } = options
  const requestsFile = join(folder, 'requests.txt')
  const wrk = options.generator === 'wrk' ? await ensureWrk(checkout) : undefined
  const generator =
    wrk === undefined ? nodeGenerator(requestsFile, processes) : wrkGenerator(wrk, requestsFile, processes)
  const ground = await prepareGround(folder, options.natsServerBin, processes, options.durability)
  const storePort = await freePort()
  const storePid = await startStore(ground, storePort)
  const storeUrl = `http://127.0.0.1:${storePort}`
  const bodyBytes = writeRequests(requestsFile, keyHeader(ground), Date.now())
  if (options.profile)
    return profileGateway(
      ground,
      storeUrl,
      generator,
      requestsFile,
      connections,
      join(checkout, 'bench', 'results', 'tmp'),
    )
  if (options.gateways) return compareGateways(checkout, folder, ground, storeUrl)
  if (options.sweep && wrk === undefined) throw new Error('this needs wrk')
  if (options.sweep && wrk !== undefined) return sweep(checkout, folder, wrk, ground, storeUrl)

  const servers: readonly Server[] = [
    await startBareServer(ground),
    await startGateway(ground, storeUrl),
    await startFastifyServer(ground),
  ]
  const bench = new Bench(servers, generator, ground, requestsFile)
  if (options.credential === 'jwt') {
    writeRequests(requestsFile, await tokenHeader(ground, bench.server('ours')), Date.now())
  }
  const stored = new StoredEvents(ground.broker.manager)

  say(`load generator: ${generator.name}, ${connections} connections; ${bodyBytes} bytes a body`)
  say(`proof: ${PROOF_EVENTS} events to the gateway, one look at each answer`)
  const proof = await sendExactly(PROOF_EVENTS, bench.server('ours').port, requestsFile, processes)
  await stored.check([proof])

  say('warming up')
  const full = { connections, seconds, pauseMs: 0 }
  for (const { name } of servers) await bench.run(name, { ...full, seconds: WARM_UP_SECONDS })

  for (let i = 0; i < repeats; i++) {
    say(`repeat ${i + 1} of ${repeats}`)
    for (const name of orderOf(i)) bench.keep(name, await bench.run(name, full))
  }

  const light = await runLightLoads(bench, repeats)

  say('counting the events in the log')
  const eventsPerMessage = await stored.check(bench.sentTo('ours'))
  await checkMessages(ground.broker.manager, FASTIFY_STREAM, bench.sentTo('fastify'))

  say('once more with the attributor running')
  // They should process new events, not the backlog.
  await ground.broker.manager.streams.purge(INVOCATIONS.name)
  bench.others = [storePid, await startAttributor(ground, storePort)]
  await bench.run('ours', full)
  await runInTurns(bench, 'attributing', full, ATTRIBUTION_REPEATS)

  const file = join(checkout, 'bench', 'results', resultOf(options))
  const before = readResult<IngestResult>(file)
  const result = summarise({
    provenance: provenance(checkout),
    generator: generator.name,
    load: { connections, seconds, repeats, body_bytes: bodyBytes, light },
    eventsPerMessage,
    runs: bench.runs,
  })
  writeResult(file, result)
  printReport(result, before)
  say(`written to ${file}`)
}

/** A tenth of the highest rate. @returns the load */
async function runLightLoads(bench: Bench, repeats: number) {
  const rate = LIGHT_SHARE * (bench.kept('ours').at(-1)?.eventsPerSecond ?? Number.NaN)
  const light = {
    connections: LIGHT_CONNECTIONS,
    seconds: LIGHT_SECONDS,
    pauseMs: Math.max(1, Math.round((LIGHT_CONNECTIONS / rate) * 1000)),
  }
  say(`light load: ${LIGHT_CONNECTIONS} connections, one request each in ${light.pauseMs} ms`)
  await runInTurns(bench, 'light', light, repeats)
  return light
}

async function runInTurns(
  bench: Bench,
  name: 'light' | 'attributing',
  load: Parameters<Bench['run']>[1],
  repeats: number,
): Promise<void> {
  for (let i = 0; i < repeats; i++) {
    bench.keep(`${name} bare`, await bench.run('bare', load))
    bench.keep(`${name} ours`, await bench.run('ours', load))
  }
}

/** The gateway runs in the middle, next to both others; the order of the others alternates. */
const orderOf = (repeat: number): readonly ServerName[] =>
  repeat % 2 === 0 ? ['bare', 'ours', 'fastify'] : ['fastify', 'ours', 'bare']

/** Runs loads, and remembers which requests went where. */
class Bench {
  /** Process ids of ours that run beside server and broker. */
  others: readonly number[] = []
  readonly runs: Record<string, Measurement[]> = {}
  private readonly all: { readonly name: ServerName; readonly measurement: Measurement }[] = []
  private readonly servers: readonly Server[]
  private readonly generator: LoadGenerator
  private readonly ground: Ground
  private readonly requestsFile: string

  constructor(servers: readonly Server[], generator: LoadGenerator, ground: Ground, requestsFile: string) {
    this.servers = servers
    this.generator = generator
    this.ground = ground
    this.requestsFile = requestsFile
  }

  server(name: ServerName): Server {
    const found = this.servers.find((server) => server.name === name)
    if (found === undefined) throw new Error(`${name} is not running`)
    return found
  }

  async run(name: ServerName, load: { connections: number; seconds: number; pauseMs: number }): Promise<Measurement> {
    const idle = this.servers.filter((server) => server.name !== name).map(({ pid }) => pid)
    const others = [...idle, ...this.others]
    const measurement = await measure(
      this.generator,
      this.server(name),
      load,
      this.ground,
      this.requestsFile,
      others,
    ).catch((cause: Error) => {
      throw new Error(`the load on ${name} is void: ${cause.message}`, { cause })
    })
    this.all.push({ name, measurement })
    return measurement
  }

  keep(label: string, measurement: Measurement): void {
    this.runs[label] = [...this.kept(label), measurement]
  }

  kept(label: string): readonly Measurement[] {
    return this.runs[label] ?? []
  }

  sentTo(name: ServerName): readonly Measurement['probe'][] {
    return this.all.filter((run) => run.name === name).flatMap(({ measurement }) => [measurement, measurement.probe])
  }
}

const say = (line: string): void => void process.stderr.write(`${line}\n`)
