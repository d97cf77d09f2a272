import type { InvocationEvent } from '../../invocations/invocation-schema.js'
import { formatQuantity, quantityOfSteps } from '../../units/quantity.js'
import { uuidV5 } from '../replay/trace.js'
import type { SandboxCompany, SandboxModel, SandboxService } from './company.js'
import { type Random, seededRandom } from './random.js'

const DAY_MS = 24 * 60 * 60 * 1000
/** Namespace of the event ids: the same seed and day give the same ids, so that repeats are deduplicated. */
const NAMESPACE = '6d0b6f0a-6f43-5b5e-9c37-5b1a3f0f2c11'
/** Calls by hour of the day, UTC. */
const HOURS = [1, 1, 1, 1, 1, 2, 4, 8, 12, 14, 14, 12, 10, 13, 14, 13, 11, 8, 5, 4, 3, 2, 2, 1].flatMap(
  (weight, hour) => Array.from({ length: weight }, () => hour),
)
const WEEKEND_SHARE = 0.25
const STEPS_MAX = 6

/**
 * The calls of the last days up to now, oldest first. The calls of a day depend on seed and date only: later runs add
 * new days and repeat the same events for the others.
 *
 * @param days including today
 */
export function* sandboxEvents(
  company: SandboxCompany,
  seed: number,
  days: number,
  nowMs: number,
): Generator<InvocationEvent> {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS
  for (let day = today - (days - 1) * DAY_MS; day <= today; day += DAY_MS) {
    for (const { atMs, event } of eventsOfDay(company, seed, day)) if (atMs <= nowMs) yield event
  }
}

interface Timed {
  readonly atMs: number
  readonly event: InvocationEvent
}

function eventsOfDay(company: SandboxCompany, seed: number, dayMs: number): Timed[] {
  const date = new Date(dayMs).toISOString().slice(0, 10)
  const random = seededRandom(`traffic ${seed} ${date}`)
  const isWeekend = [0, 6].includes(new Date(dayMs).getUTCDay())
  const calls: { readonly atMs: number; readonly fields: CallFields }[] = []
  for (const service of company.services) {
    const usual = service.callsADay * (isWeekend ? WEEKEND_SHARE : 1)
    for (let left = Math.round(usual * (0.8 + random.share() * 0.4)); left > 0; ) {
      const atMs = dayMs + timeOfDayMs(random)
      const isWorkflow = random.happens(service.workflowShare)
      const steps = isWorkflow ? random.whole(2, STEPS_MAX) : 1
      const trace = isWorkflow ? hexDigits(random, 32) : undefined
      let parent: string | undefined
      for (let step = 0; step < steps; step++, left--) {
        const stepAtMs = Math.min(atMs + step * random.whole(400, 4_000), dayMs + DAY_MS - 1)
        calls.push({ atMs: stepAtMs, fields: call(service, random, trace, parent) })
        parent = trace === undefined ? undefined : hexDigits(random, 16)
      }
    }
  }
  return calls
    .sort((one, other) => one.atMs - other.atMs)
    .map(({ atMs, fields }, i) => {
      const event_id = uuidV5(NAMESPACE, `${seed} ${date} ${i}`)
      return { atMs, event: { event_id, ingestion_timestamp: new Date(atMs).toISOString(), ...fields } }
    })
}

type CallFields = Omit<InvocationEvent, 'event_id' | 'ingestion_timestamp'>

function call(
  service: SandboxService,
  random: Random,
  trace: string | undefined,
  parent: string | undefined,
): CallFields {
  const { model, layer, inputTokens, outputTokens } = service
  // Skewed like real calls: most are short, some are long.
  const skew = (usual: number): number => Math.max(1, Math.round(usual * (0.2 + 4 * random.share() ** 3)))
  const [input, output] = [skew(inputTokens), skew(outputTokens)]
  return {
    ingestion_layer: layer,
    provider: model.provider,
    requested_model: model.model,
    ...(model.served !== undefined && { served_model: model.served }),
    ...(model.region !== undefined && { region: model.region }),
    input_tokens: input,
    output_tokens: output,
    latency_ms: 250 + output * random.whole(8, 25),
    ...tokenDetails(model, input, output, random),
    ...statements(service, random),
    ...(trace !== undefined && { trace_id: trace }),
    ...(parent !== undefined && { parent_span_id: parent }),
    ...(random.happens(0.2) && { tags: { environment: random.pick(['production', 'staging']), release: '2026.11' } }),
    ...(model.isOwn && ownMachine(service, output, random)),
  }
}

/**
 * The service and identity of a call. Most calls state both, some one, a few none: those cannot be resolved by facts.
 */
function statements({ name, aliases, people }: SandboxService, random: Random): Partial<CallFields> {
  const stated = random.pick([name, name, ...(aliases ?? [])])
  const person = random.pick(people)
  const said = random.share()
  if (said < 0.68) return { attributed_service: stated, attributed_identity: person }
  if (said < 0.8) return { attributed_service: stated }
  if (said < 0.92) return { attributed_identity: person }
  return said < 0.95 ? { attributed_service: stated, attribution_confidence: 0.6 } : {}
}

function tokenDetails(model: SandboxModel, input: number, output: number, random: Random): Partial<CallFields> {
  if (random.happens(0.02)) return { served_from_cache: true }
  const part = (of: number): number => Math.floor(of * random.share())
  const cached = model.caches && random.happens(0.6) ? part(input) : undefined
  const written = cached !== undefined && model.provider !== 'openai' ? part(input - cached) : undefined
  return {
    ...(cached !== undefined && { cached_input_tokens: cached }),
    ...(written !== undefined && { cache_write_tokens: written, cache_write_ttl_seconds: 300 }),
    ...(model.reasons && { reasoning_tokens: part(output) }),
    ...(model.hears && { audio_input_tokens: part(input), audio_output_tokens: part(output) }),
    ...(model.batches && random.happens(0.15) && { service_tier: 'batch' as const }),
    // Some proxies compute a cost themselves, by prices of their own that know neither cached tokens nor batches.
    ...(random.happens(0.05) && { estimated_cost_usd: statedCost(model, input, output, random.whole(80, 120)) }),
  }
}

/** In USD, exact, at a percentage of the model's rates. */
function statedCost({ rates: [ofInput, ofOutput] }: SandboxModel, input: number, output: number, percent: number) {
  const atRates = BigInt(input) * ofInput + BigInt(output) * ofOutput
  return formatQuantity(quantityOfSteps((atRates * BigInt(percent)) / 100n))
}

const ownMachine = ({ name, owner }: SandboxService, output: number, random: Random): Partial<CallFields> => ({
  k8s_namespace: owner,
  k8s_workload: name,
  workload_identity: `spiffe://example.com/${owner}/${name}`,
  energy_wh: thousandths(output * random.whole(1, 3)),
  carbon_gco2e: thousandths(output),
})

const thousandths = (count: number): string => `${Math.floor(count / 1_000)}.${String(count % 1_000).padStart(3, '0')}`

const timeOfDayMs = (random: Random): number =>
  (random.pick(HOURS) * 3_600 + random.whole(0, 3_599)) * 1_000 + random.whole(0, 999)

const hexDigits = (random: Random, count: number): string =>
  Array.from({ length: count / 4 }, () => random.whole(0, 0xffff).toString(16).padStart(4, '0')).join('')
