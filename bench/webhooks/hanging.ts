import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatId, parseId } from '../../internal/ids/ids.js'
import type { ServiceClient } from '../../internal/local/replay/client.js'
import type { Delivering } from './delivering.js'

export interface HangingLoad {
  readonly rounds: number
  /** Of which one in ten hangs, or does not. */
  readonly endpoints: number
  /** Measured, of each round. */
  readonly seconds: number
}

/** Milliseconds. */
export interface Quantiles {
  readonly count: number
  readonly p50: number
  readonly p99: number
}

export interface Beside {
  /** From `created_at` of an event to its first attempt at an endpoint that answers. */
  readonly first_attempt_ms: Quantiles
  /** From the 202 of an invocation until `GET` by id shows it. */
  readonly visible_ms: Quantiles
}

/** Deliveries a second. */
export const STEADY_PER_SECOND = 200
const ENDPOINTS_A_TENANT = 100
/** Until the first attempts at hanging endpoints have timed out, and deliveries that arrived meanwhile are delayed. */
const WARM_UP_SECONDS = 12
const INVOCATION_EVERY_MS = 250
const LOOK_EVERY_MS = 20
/** Nor more often than this share of the elapsed time: polling a slow system would slow it down. */
const LOOK_EVERY_SHARE = 0.1
const VISIBLE_MS_MAX = 30_000

/**
 * Events at a constant rate to many endpoints, and invocations beside them, in rounds: with one endpoint in ten that
 * answers at once, and with the same that never answers. The nine others are measured.
 */
export async function besideHanging(
  load: HangingLoad,
  delivering: Delivering,
  service: ServiceClient,
): Promise<{ readonly none_hangs: Beside; readonly tenth_hangs: Beside }> {
  const [none, tenth] = [new Samples(), new Samples()]
  for (let i = 0; i < load.rounds; i++) {
    for (const [samples, path] of [
      [none, '/kept'],
      [tenth, '/hang'],
    ] as const) {
      await round(path, load, samples, delivering, service)
      const { first_attempt_ms: first, visible_ms: visible } = samples.shown()
      process.stderr.write(
        `  round ${i + 1}, one in ten ${path}: first attempts p50 ${first.p50} p99 ${first.p99} ms; ` +
          `visible p50 ${visible.p50} p99 ${visible.p99} ms\n`,
      )
    }
  }
  return { none_hangs: none.shown(), tenth_hangs: tenth.shown() }
}

class Samples {
  readonly firstAttempts: number[] = []
  readonly visible: number[] = []

  shown(): Beside {
    return { first_attempt_ms: quantiles(this.firstAttempts), visible_ms: quantiles(this.visible) }
  }
}

const quantiles = (values: readonly number[]): Quantiles => {
  const sorted = values.toSorted((one, other) => one - other)
  const at = (part: number): number => Math.round(sorted[Math.floor(sorted.length * part)] ?? Number.NaN)
  return { count: sorted.length, p50: at(0.5), p99: at(0.99) }
}

async function round(
  path: '/kept' | '/hang',
  { endpoints, seconds }: HangingLoad,
  samples: Samples,
  delivering: Delivering,
  service: ServiceClient,
): Promise<void> {
  const each = Math.min(ENDPOINTS_A_TENANT, endpoints)
  const pathOf = (i: number): string => (i % 10 === 9 ? path : '/timed')
  const timedEach = Array.from({ length: each }, (_, i) => pathOf(i)).filter((one) => one === '/timed').length
  const tenantIds: string[] = []
  for (let made = 0; made < endpoints; made += each) tenantIds.push(await delivering.tenant(each, pathOf))

  let [told, turn] = [0, 0]
  const tellFor = async (lengthMs: number): Promise<void> => {
    told = 0
    const startedAt = performance.now()
    for (let dueAt = startedAt; dueAt < startedAt + lengthMs; dueAt += 1_000 / (STEADY_PER_SECOND / each)) {
      await sleep(Math.max(0, dueAt - performance.now()))
      await delivering.tell(tenantIds[turn++ % tenantIds.length] ?? '')
      told++
    }
  }
  const arrived = (keep: (latenciesMs: readonly number[]) => void) =>
    delivering.until(told * timedEach, ({ latenciesMs }) => {
      keep(latenciesMs)
      return latenciesMs.length
    })

  await delivering.stats()
  await tellFor(WARM_UP_SECONDS * 1_000)
  await arrived(() => undefined)
  const measuring = new AbortController()
  const asking = invocations(service, samples.visible, measuring.signal)
  // It is waited for below.
  asking.catch(() => undefined)
  await tellFor(seconds * 1_000)
  measuring.abort()
  await arrived((latenciesMs) => samples.firstAttempts.push(...latenciesMs))
  await asking
  await delivering.removeEndpoints(tenantIds)
  // So that what hangs does not reach into the next round.
  if (path === '/hang') await sleep(WARM_UP_SECONDS * 1_000)
}

/** Sends invocations one after the other, and looks when each can be read. */
async function invocations(service: ServiceClient, visibleMs: number[], signal: AbortSignal): Promise<void> {
  const looking: Promise<void>[] = []
  while (!signal.aborted) {
    const id = await service.send({
      event_id: randomUUID(),
      ingestion_layer: 'application',
      ingestion_timestamp: new Date().toISOString(),
      provider: 'openai',
      requested_model: 'gpt-4o-mini',
      input_tokens: 1_000,
      output_tokens: 100,
      attributed_service: 'bench',
    })
    const acceptedAt = performance.now()
    const seen = untilVisible(id, acceptedAt, service).then((ms) => void visibleMs.push(ms))
    seen.catch(() => undefined) // it is waited for below
    looking.push(seen)
    await sleep(INVOCATION_EVERY_MS)
  }
  await Promise.all(looking)
}

/** @returns milliseconds */
async function untilVisible(invocationId: string, acceptedAt: number, service: ServiceClient): Promise<number> {
  const bytes = parseId('inv', invocationId)
  if (bytes === undefined) throw new Error('the answer to an invocation has no id')
  const id = formatId('attr', bytes)
  while ((await service.find(id)) === undefined) {
    const passedMs = performance.now() - acceptedAt
    if (passedMs > VISIBLE_MS_MAX) throw new Error('an invocation does not become visible')
    await sleep(Math.max(LOOK_EVERY_MS, passedMs * LOOK_EVERY_SHARE))
  }
  return performance.now() - acceptedAt
}
