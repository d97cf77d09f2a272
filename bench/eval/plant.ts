import type { TraceRow } from '../../internal/local/replay/trace.js'
import { type Random, seededRandom } from '../../internal/local/sandbox/random.js'
import {
  AUDIT_SHARE,
  COMPANY,
  HISTORY_SHARE,
  LAYERS,
  type Layer,
  MODELS,
  type PlantedService,
  type PrincipalName,
  SHADOW,
  STRETCHED_DAYS,
  WITHHOLDINGS,
  type Withholding,
} from './planted-company.js'

/** One row of the trace with everything that was planted on it. */
export interface PlantedEvent {
  readonly rowId: string
  /** Since the start of the stretched time, which is a Monday at 00:00 UTC. */
  readonly atMs: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly latencyMs: number | undefined
  readonly provider: string
  readonly model: string
  readonly layer: Layer
  readonly principal: PrincipalName
  /** The person who called; whether the event says so is another matter. */
  readonly person: number
  readonly statesIdentity: boolean
  readonly isLabelled: boolean
  /** The truth. */
  readonly service: string
  readonly owner: string
  readonly isHistory: boolean
  /** One of the withheld events that people look at. */
  readonly isAudited: boolean
}

export interface PlantedWorld {
  readonly company: readonly PlantedService[]
  readonly withholding: Withholding
  readonly events: readonly PlantedEvent[]
}

const DAY_MS = 86_400_000
export const STRETCHED_MS = STRETCHED_DAYS * DAY_MS

/**
 * Plants a company on the rows. A row's service is drawn from weights that its tokens and its (stretched) time give
 * each service; layer, principal, model and person are drawn from the service; labels go missing as `withholding` says.
 *
 * @param rows ascending in time
 * @param seed every draw follows from it
 * @param company `COMPANY`, or another one to see that nothing is fitted to it
 */
export function plant(
  rows: readonly TraceRow[],
  withholding: Withholding,
  seed: string,
  company: readonly PlantedService[] = COMPANY,
): PlantedWorld {
  const random = seededRandom(seed)
  const firstMs = rows[0]?.arrivedAtMs ?? 0
  const stretch = STRETCHED_MS / ((rows.at(-1)?.arrivedAtMs ?? 0) - firstMs + 1)
  const events = rows.map((row): PlantedEvent => {
    const atMs = Math.floor((row.arrivedAtMs - firstMs) * stretch)
    const service = pick(
      random,
      company,
      company.map((one) => Math.exp(logWeight(one, row.inputTokens, row.outputTokens, atMs))),
    )
    const layerAt = pickIndex(random, service.layers)
    const layer = at(LAYERS, layerAt)
    const principal = principalOf(layer, service, random)
    const { provider, model } = pick(random, MODELS, service.models)
    const person = pickIndex(random, peopleWeights(service)) + service.people[0]
    const isLabelled = random.happens(service.name === SHADOW ? 0 : at(withholding.labelled, layerAt))
    const statesIdentity = random.happens(
      isLabelled ? withholding.identityIfLabelled : at(withholding.identityIfNot, layerAt),
    )
    const isHistory = atMs < HISTORY_SHARE * STRETCHED_MS
    return {
      rowId: row.rowId,
      atMs,
      inputTokens: row.inputTokens,
      outputTokens: row.outputTokens,
      latencyMs: Math.round(250 + 400 * random.share() + row.outputTokens * (12 + 10 * random.share())),
      provider,
      model,
      layer,
      principal,
      person,
      statesIdentity,
      isLabelled,
      service: service.name,
      owner: service.owner,
      isHistory,
      isAudited: random.happens(AUDIT_SHARE) && isHistory && !isLabelled,
    }
  })
  return { company, withholding, events }
}

/** Of a service among the others, for a row: share, times the densities of its tokens, times its weight at the time. */
export function logWeight(service: PlantedService, inputTokens: number, outputTokens: number, atMs: number): number {
  return (
    Math.log(service.share) +
    logDensity(Math.log(inputTokens), service.input) +
    logDensity(Math.log(outputTokens), service.output) +
    Math.log(timeWeight(service, atMs))
  )
}

function logDensity(logTokens: number, [median, sigma]: readonly [number, number]): number {
  const distance = (logTokens - Math.log(median)) / sigma
  return -0.5 * distance * distance - Math.log(sigma)
}

function timeWeight({ times: [office, night, weekend] }: PlantedService, atMs: number): number {
  const day = Math.floor(atMs / DAY_MS) % 7
  if (day >= 5) return weekend
  const hour = (atMs % DAY_MS) / 3_600_000
  return hour >= 8 && hour < 18 ? office : night
}

function principalOf(layer: Layer, service: PlantedService, random: Random): PrincipalName {
  if (layer !== 'application') return layer
  return random.happens(service.webApps) ? 'web-apps' : 'back-office'
}

/** Of a service's people, by their place among them; sums to 1. */
export function peopleWeights({ people: [, count] }: PlantedService): number[] {
  const weights = Array.from({ length: count }, (_, k) => 1 / (k + 1))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return weights.map((weight) => weight / total)
}

/** The same company with its figures moved: medians by some 25 %, shares too, layers and models by 30 %. */
export function jitterCompany(company: readonly PlantedService[], seed: string): PlantedService[] {
  const random = seededRandom(`company ${seed}`)
  const factor = (spread: number): number => Math.exp(spread * (2 * random.share() - 1) * Math.sqrt(3))
  const mixed = <T extends readonly number[]>(weights: T): T => {
    const moved = weights.map((weight) => weight * factor(0.3))
    const total = moved.reduce((sum, weight) => sum + weight, 0)
    return moved.map((weight) => weight / total) as unknown as T
  }
  return company.map((service) => ({
    ...service,
    share: service.share * factor(0.25),
    input: [service.input[0] * factor(0.25), service.input[1]],
    output: [service.output[0] * factor(0.25), service.output[1]],
    layers: mixed(service.layers),
    models: mixed(service.models),
  }))
}

function pick<T>(random: Random, list: readonly T[], weights: readonly number[]): T {
  return at(list, pickIndex(random, weights))
}

function pickIndex(random: Random, weights: readonly number[]): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let rest = random.share() * total
  for (const [i, weight] of weights.entries()) {
    rest -= weight
    if (rest < 0) return i
  }
  return weights.findLastIndex((weight) => weight > 0)
}

function at<T>(list: readonly T[], index: number): T {
  const value = list[index]
  if (value === undefined) throw new RangeError(`there is no element ${index}`)
  return value
}

/** The same world with the labels permuted among the events that carry one, so that they mean nothing. */
export function permuteLabels(world: PlantedWorld, seed: string): PlantedWorld {
  const random = seededRandom(`permutation ${seed}`)
  const dealt = world.events.filter(({ isLabelled }) => isLabelled).map(({ service, owner }) => ({ service, owner }))
  for (let i = dealt.length - 1; i > 0; i--) {
    const j = random.whole(0, i)
    ;[dealt[i], dealt[j]] = [at(dealt, j), at(dealt, i)]
  }
  let next = 0
  return {
    ...world,
    events: world.events.map((event) => (event.isLabelled ? { ...event, ...at(dealt, next++) } : event)),
  }
}

/** The trace's own two services, of which an event shows nothing but its token counts; at its own time. */
export function naturalKinds(rows: readonly TraceRow[], seed: string): PlantedWorld {
  const random = seededRandom(`kinds ${seed}`)
  const withholding = at(WITHHOLDINGS, 0)
  const firstMs = rows[0]?.arrivedAtMs ?? 0
  const lengthMs = (rows.at(-1)?.arrivedAtMs ?? 0) - firstMs
  const events = rows.map(({ rowId, arrivedAtMs, kind, inputTokens, outputTokens }): PlantedEvent => {
    const atMs = arrivedAtMs - firstMs
    return {
      rowId,
      atMs,
      inputTokens,
      outputTokens,
      latencyMs: undefined,
      ...MODELS[0],
      layer: 'application',
      principal: 'web-apps',
      person: 0,
      statesIdentity: false,
      isLabelled: random.happens(withholding.labelled[0]),
      service: kind,
      owner: `team-${kind}`,
      isHistory: atMs < HISTORY_SHARE * lengthMs,
      isAudited: false,
    }
  })
  return { company: [], withholding, events }
}
