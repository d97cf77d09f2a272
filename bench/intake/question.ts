import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { INVOCATIONS } from '../../streams/invocations.js'
import { processSeconds } from '../cpu-time.js'
import { type Ground, prepareGround, type Server, startGateway, startStore } from '../ingest/servers.js'
import { StoredEvents } from '../ingest/stored.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import type { Processes } from '../processes.js'
import { readResult, writeResult } from '../results.js'
import { pairedRatio, type Spread, spread } from '../statistics.js'
import { table } from '../table.js'
import { CALLS_PER_BODY, type Form, forms } from './bodies.js'

/**
 * Question: what does a call cost the gateway that comes in another's form, beside the same call as an event of ours?
 *
 * Each form's bodies are sent once, over a few connections, right after those of the native bulk route; what counts is
 * the gateway's processor time per call, all its threads. Bars: calls per core of OTLP in protobuf with 4 KB of content
 * each ÷ native bulk events per core ≥ 0.4 plain, ≥ 0.2 gzip. LiteLLM is stated.
 */
export interface IntakeOptions {
  readonly checkout: string
  readonly natsServerBin: string
  readonly repeats: number
}

const BARS: Readonly<Record<string, number>> = { 'OTLP protobuf': 0.4, 'OTLP protobuf, gzip': 0.2 }
/** Some eight seconds of one core for each form: shorter loads measure how soon V8 has compiled it. */
const BODIES = 400
const CONNECTIONS = 8
/** For the last group to reach the log. */
const SETTLE_MS = 500

interface Measured {
  readonly cpuUs: number
  readonly callsPerSecond: number
}

interface FormResult {
  readonly bytes_per_call: number
  readonly server_cpu_us: Spread
  readonly calls_per_core_second: number
  readonly calls_per_second: Spread
  readonly ratio_to_native: Spread
}

export const intake = (options: IntakeOptions, signal: AbortSignal): Promise<void> =>
  privateRun(options.checkout, 'intake', signal, (folder, processes) => answer(options, folder, processes))

async function answer({ checkout, natsServerBin, repeats }: IntakeOptions, folder: string, processes: Processes) {
  const ground = await prepareGround(folder, natsServerBin, processes)
  const storePort = await freePort()
  await startStore(ground, storePort)
  const intakePort = await freePort()
  const server = await startGateway(ground, `http://127.0.0.1:${storePort}`, { intakePort })
  const all = forms(Date.now())
  const bench = new Bench(ground, server, intakePort)
  const [native, ...others] = all as [Form, ...Form[]]

  say('warming up')
  for (const form of all) await bench.run(form)
  const runs = new Map<Form, { own: Measured[]; native: Measured[] }>(
    others.map((form) => [form, { own: [], native: [] }]),
  )
  for (let i = 0; i < repeats; i++) {
    say(`repeat ${i + 1} of ${repeats}`)
    for (const [form, { own, native: beside }] of runs) {
      const order = [async () => own.push(await bench.run(form)), async () => beside.push(await bench.run(native))]
      for (const one of i % 2 === 0 ? order : order.toReversed()) await one()
    }
  }
  await bench.close()

  const results: Record<string, FormResult> = {}
  for (const [form, { own, native: beside }] of runs) results[form.name] = resultOf(form, own, beside)
  const besides = [...runs.values()].flatMap(({ native: beside }) => beside)
  results[native.name] = resultOf(native, besides, besides)
  const file = join(checkout, 'bench', 'results', 'intake.json')
  const before = readResult<{ forms: Record<string, FormResult> }>(file)
  writeResult(file, {
    question: 'what a call costs the gateway in the form of another, beside an event of ours in bulk',
    provenance: provenance(checkout),
    load: { repeats, bodies: BODIES, calls_per_body: CALLS_PER_BODY, connections: CONNECTIONS },
    bars: BARS,
    forms: results,
    events_counted: bench.counted,
  })
  print(results, before?.forms)
  say(`written to ${file}`)
}

const resultOf = (form: Form, own: readonly Measured[], beside: readonly Measured[]): FormResult => {
  const cpuUs = own.map((each) => each.cpuUs)
  return {
    bytes_per_call: form.bytesPerCall,
    server_cpu_us: spread(cpuUs),
    calls_per_core_second: 1e6 / spread(cpuUs).median,
    calls_per_second: spread(own.map((each) => each.callsPerSecond)),
    ratio_to_native: pairedRatio(
      beside.map((each) => each.cpuUs),
      cpuUs,
    ),
  }
}

class Bench {
  /** Events that were accepted and found in the log. */
  counted = 0
  private readonly ground: Ground
  private readonly server: Server
  private readonly api: Pool
  private readonly intake: Pool
  private readonly stored: StoredEvents

  constructor(ground: Ground, server: Server, intakePort: number) {
    this.ground = ground
    this.server = server
    this.api = new Pool(`http://127.0.0.1:${server.port}`, { connections: CONNECTIONS })
    this.intake = new Pool(`http://127.0.0.1:${intakePort}`, { connections: CONNECTIONS })
    this.stored = new StoredEvents(ground.broker.manager)
  }

  async run(form: Form): Promise<Measured> {
    const bodies = Array.from({ length: BODIES }, form.body)
    const cpuBefore = processSeconds(this.server.pid) ?? Number.NaN
    const startedAt = performance.now()
    await Promise.all(Array.from({ length: CONNECTIONS }, () => this.sendFrom(form, bodies)))
    const seconds = (performance.now() - startedAt) / 1000
    await sleep(SETTLE_MS)
    const cpuSeconds = (processSeconds(this.server.pid) ?? Number.NaN) - cpuBefore
    const calls = BODIES * CALLS_PER_BODY
    await this.stored.check([{ eventsPerSecond: 0, accepted: calls, unseenMax: 0, p50Us: 0, p99Us: 0 }])
    this.counted += calls
    await this.ground.broker.manager.streams.purge(INVOCATIONS.name)
    return { cpuUs: (cpuSeconds * 1e6) / calls, callsPerSecond: calls / seconds }
  }

  private async sendFrom({ path, headers, isIntake, name }: Form, bodies: Buffer[]): Promise<void> {
    const pool = isIntake ? this.intake : this.api
    for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) {
      const credential = { 'x-api-key': this.ground.credentials.api_key, 'idempotency-key': crypto.randomUUID() }
      const { statusCode, body: answer } = await pool.request({
        method: 'POST',
        path,
        headers: { ...credential, ...headers },
        body,
      })
      const text = await answer.text()
      if (statusCode !== (isIntake ? 200 : 202)) throw new Error(`${name}: ${statusCode} ${text.slice(0, 200)}`)
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.api.close(), this.intake.close()])
  }
}

function print(
  results: Readonly<Record<string, FormResult>>,
  before: Readonly<Record<string, FormResult>> | undefined,
) {
  const figure = (value: number, digits: number): string => value.toFixed(digits)
  const rows = Object.entries(results).map(([name, each]) => [
    name,
    String(each.bytes_per_call),
    figure(each.server_cpu_us.median, 1),
    figure(each.calls_per_core_second, 0),
    figure(each.calls_per_second.median, 0),
    figure(each.ratio_to_native.median, 2),
    `${figure(each.ratio_to_native.min, 2)} to ${figure(each.ratio_to_native.max, 2)}`,
    BARS[name] === undefined ? '' : `≥ ${BARS[name]}`,
    before?.[name] === undefined ? '' : figure(before[name].ratio_to_native.median, 2),
  ])
  process.stdout.write(
    table([
      ['', 'bytes/call', 'cpu us/call', 'calls/core s', 'calls/s', '÷ native', 'spread', 'bar', 'before'],
      ...rows,
    ]),
  )
}

const say = (line: string): void => void process.stderr.write(`${line}\n`)
