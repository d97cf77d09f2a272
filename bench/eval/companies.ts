import type { TraceRow } from '../../internal/local/replay/trace.js'
import { type Random, seededRandom } from '../../internal/local/sandbox/random.js'
import { HISTORY_SHARE, LAYERS, type Layer, STRETCHED_DAYS } from './planted-company.js'

/**
 * Family (c): companies with a directory, personal and shared identities, and traces. Nothing decides here whether an
 * event has a label: stage A of the product does, from what the event states and the directory knows
 * (`companies-stage-a.ts`). What a company looks like follows from its seed alone; the rule was committed before a
 * model was tried on it.
 */

export const COMPANY_MODELS = [
  { provider: 'openai', model: 'gpt-4o-2024-08-06' },
  { provider: 'openai', model: 'gpt-4o-mini' },
  { provider: 'openai', model: 'gpt-4.1' },
  { provider: 'anthropic', model: 'claude-sonnet-4-5-20250929' },
  { provider: 'anthropic', model: 'claude-haiku-4-5-20251001' },
  { provider: 'gemini', model: 'gemini-2.5-flash' },
  { provider: 'gemini', model: 'gemini-2.5-pro' },
  { provider: 'mistral', model: 'mistral-large-latest' },
] as const

/** What is varied. Five seeds in a row cover each range evenly. */
export interface Profile {
  /** 6 to 60, without shadow services. */
  readonly services: number
  /** Share of the calls that the largest service makes, among those of the directory's services: up to 0.97. */
  readonly largest: number
  /** Share of all calls that services make which are in no directory and never labelled: 0 to 0.2. */
  readonly shadow: number
  /** How strongly services differ in sizes, models and hours: 0.4 (hardly) to 1.6. */
  readonly differ: number
}

/** What a service's calls look like; it can change half-way (drift). */
export interface Habits {
  /** Log-normal density in tokens: median, and sigma in nats. */
  readonly input: readonly [median: number, sigma: number]
  readonly output: readonly [median: number, sigma: number]
  /** Relative weight in office hours, in the other hours of working days, at weekends. */
  readonly times: readonly [office: number, night: number, weekend: number]
  /** In the order of `COMPANY_MODELS`; sums to 1. */
  readonly models: readonly number[]
}

export interface CompanyService {
  readonly name: string
  readonly owner: string
  readonly isShadow: boolean
  /** Share of the calls, sums to 1 over the company. */
  readonly share: number
  readonly habits: Habits
  /** In the order of `LAYERS`; sums to 1. */
  readonly layers: readonly number[]
  /** Share of its events that state the service, in the order of `LAYERS`. */
  readonly statesService: readonly number[]
  /** Credentials of its application events, with weights. */
  readonly credentials: readonly Weighted[]
  /** Who calls for it, with weights: persons and shared identities. */
  readonly callers: readonly Caller[]
}

export interface Weighted {
  readonly name: string
  readonly weight: number
}

export interface Caller extends Weighted {
  /**
   * Index of the model that the caller prefers. So callers whom the directory knows differ from those whom it does not.
   */
  readonly prefers: number
}

/** Probability that a call of a service by one of its callers goes to the model with this index. */
export const modelShare = ({ models }: Habits, { prefers }: Caller, model: number): number =>
  (1 - PREFERRED_SHARE) * (models[model] ?? 0) + (prefers === model ? PREFERRED_SHARE : 0)

/** What the directory says of an identity; one that is not here is not in it. */
export interface DirectoryIdentity {
  readonly name: string
  readonly owner: string
  readonly service?: string
}

export interface Company {
  readonly profile: Profile
  readonly services: readonly CompanyService[]
  readonly identities: readonly DirectoryIdentity[]
  /** Credentials with a default service. */
  readonly principals: readonly { readonly id: string; readonly service: string }[]
  /** Share of the events that state their caller, in the order of `LAYERS`. */
  readonly statesIdentity: readonly number[]
}

export interface CompanyEvent {
  readonly rowId: string
  readonly atMs: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly latencyMs: number
  readonly provider: string
  readonly model: string
  readonly layer: Layer
  readonly principal: string
  readonly caller: string
  readonly statesIdentity: boolean
  readonly statesService: boolean
  readonly traceId: string | undefined
  /** The truth. */
  readonly service: string
  readonly owner: string
  readonly isShadow: boolean
  readonly isHistory: boolean
  /** Somebody looks at it, if nothing resolves it. */
  readonly isAudited: boolean
}

export interface CompanyWorld {
  /** The company, and what it is from an instant on. */
  readonly phases: readonly Phase[]
  /** Per phase: the weights that were given to its services, so that each gets its share. */
  readonly weights: readonly (readonly number[])[]
  readonly events: readonly CompanyEvent[]
}

export interface Phase {
  readonly fromMs: number
  readonly company: Company
}

const DAY_MS = 86_400_000
export const LENGTH_MS = STRETCHED_DAYS * DAY_MS
const AUDIT_SHARE = 0.05
/** Share of the rows that begin a trace, and its number of steps. */
const TRACES = { share: 0.15, stepsMin: 2, stepsMax: 5 } as const
/** Rows, of all services, that a trace can take: less than an hour. */
const TRACE_ROWS_MAX = 40
/** Of a caller's calls, those to the model that this caller prefers, whatever the service's others do. */
const PREFERRED_SHARE = 0.2

const STRATA = 5
const RANGES = {
  services: (at: number) => Math.round(6 * 10 ** at),
  largest: (at: number) => 0.15 + 0.82 * at,
  shadow: (at: number) => 0.2 * at,
  differ: (at: number) => 0.4 + 1.2 * at,
} as const

/** A Latin square: of five seeds in a row each has another fifth of each range, in an order drawn for them. */
export function profileOf(seed: number): Profile {
  const group = Math.floor((seed - 1) / STRATA)
  const random = seededRandom(`profiles ${group}`)
  const drawn = Object.entries(RANGES).map(([name, of]) => {
    const order = shuffled(random, [0, 1, 2, 3, 4])
    return [name, of((order[(seed - 1) % STRATA] ?? 0) / (STRATA - 1))] as const
  })
  return Object.fromEntries(drawn) as unknown as Profile
}

export function companyOf(profile: Profile, seed: string): Company {
  const random = seededRandom(`company ${seed}`)
  const owners = Array.from({ length: Math.max(3, Math.ceil(profile.services / 3)) }, (_, i) => `team-${i}`)
  const shared = Array.from({ length: 3 + Math.floor(profile.services / 8) }, (_, i) => `shared-account-${i}`)
  const keys = Array.from({ length: Math.max(2, Math.ceil(profile.services / 6)) }, (_, i) => `apps-${i}`)
  const shares = sharesOf(profile, random)
  const identities: DirectoryIdentity[] = []
  const principals: { id: string; service: string }[] = []
  const elsewhere: string[] = []
  const services = shares.map(({ share, isShadow }, i): CompanyService => {
    const name = isShadow ? `shadow-${i}` : `service-${i}`
    const owner = random.pick(owners)
    const people = peopleOf(name, random, elsewhere)
    const mapped = isShadow ? 0 : 0.1 + 0.8 * random.share()
    for (const person of people.own) {
      if (random.happens(mapped)) identities.push({ name: person, owner, service: name })
      else if (random.happens(isShadow ? 0.2 : 0.4)) identities.push({ name: person, owner })
      else if (random.happens(0.5)) elsewhere.push(person)
    }
    const key = random.pick(keys)
    const ownKey = !isShadow && random.happens(0.2)
    if (ownKey && random.happens(0.5)) principals.push({ id: `key-of-${name}`, service: name })
    return {
      name,
      owner,
      isShadow,
      share,
      habits: habitsOf(profile.differ, random),
      layers: softmax([0.6, 0.4, 0, -0.4].map((mean) => mean + 0.8 * normal(random))),
      statesService: isShadow ? [0, 0, 0, 0] : [0.5 + 0.45 * random.share(), 0.4 * random.share(), 0, 0],
      credentials: [
        { name: ownKey ? `key-of-${name}` : key, weight: 0.85 },
        { name: random.pick(keys), weight: 0.15 },
      ],
      callers: callersOf(people.all, shared, random),
    }
  })
  return {
    profile,
    services,
    identities,
    principals,
    statesIdentity: [0.7 + 0.2 * random.share(), 0.3 + 0.5 * random.share(), 0.2 * random.share(), 0],
  }
}

/** The largest service's share is given; the others fall off, and shadow services share theirs. */
function sharesOf({ services, largest, shadow }: Profile, random: Random): { share: number; isShadow: boolean }[] {
  const others = Array.from({ length: services - 1 }, (_, k) => Math.exp(0.5 * normal(random)) / (k + 2) ** 0.7)
  const total = sumOf(others)
  const first = Math.max(largest, 1.2 / services)
  const known = [first, ...others.map((weight) => (weight / total) * (1 - first))]
  const shadows = shadow === 0 ? [] : Array.from({ length: random.whole(1, 3) }, () => 0.3 + random.share())
  return [
    ...known.map((share) => ({ share: share * (1 - shadow), isShadow: false })),
    ...shadows.map((weight) => ({ share: (weight / sumOf(shadows)) * shadow, isShadow: true })),
  ]
}

/** Its own people, and some who work for another service too. */
function peopleOf(service: string, random: Random, elsewhere: readonly string[]) {
  const own = Array.from({ length: random.whole(3, 25) }, (_, i) => `person-${i}-of-${service}@example.com`)
  const borrowed = elsewhere.filter(() => random.happens(Math.min(0.5, 4 / (1 + elsewhere.length))))
  return { own, all: [...own, ...borrowed] }
}

function callersOf(people: readonly string[], shared: readonly string[], random: Random): Caller[] {
  const ofShared = 0.4 * random.share()
  const persons = people.map((name, k) => ({ name, weight: 1 / (k + 2) }))
  const total = sumOf(persons.map(({ weight }) => weight))
  const used = [random.pick(shared), random.pick(shared)]
  return merged([
    ...persons.map(({ name, weight }) => ({ name, weight: ((1 - ofShared) * weight) / total })),
    ...used.map((name) => ({ name, weight: ofShared / used.length })),
  ]).map((caller) => ({ ...caller, prefers: random.whole(0, COMPANY_MODELS.length - 1) }))
}

function merged(list: readonly Weighted[]): Weighted[] {
  const weights = new Map<string, number>()
  for (const { name, weight } of list) weights.set(name, (weights.get(name) ?? 0) + weight)
  return [...weights].map(([name, weight]) => ({ name, weight }))
}

const habitsOf = (differ: number, random: Random): Habits => ({
  input: [1_200 * Math.exp(0.9 * differ * normal(random)), 0.5 + 0.4 * random.share()],
  output: [90 * Math.exp(1.1 * differ * normal(random)), 0.5 + 0.4 * random.share()],
  times: [1, Math.exp(-1 + 0.8 * differ * normal(random)), Math.exp(-1.2 + 0.8 * differ * normal(random))],
  models: softmax(COMPANY_MODELS.map(() => 1.8 * differ * normal(random))),
})

/** Rows of one service that belong together: a trace, or one row. */
interface Unit {
  readonly rows: readonly number[]
  readonly isTrace: boolean
}

/** A trace goes on with its service's next rows, so that sizes do not depend on whether a call is a step of a trace. */
function unitsOf(services: readonly number[], random: Random): Unit[] {
  const isTaken = new Uint8Array(services.length)
  const units: Unit[] = []
  for (let first = 0; first < services.length; first++) {
    if (isTaken[first] === 1) continue
    const isTrace = random.happens(TRACES.share)
    const rows = [first]
    const steps = isTrace ? random.whole(TRACES.stepsMin, TRACES.stepsMax) : 1
    for (let at = first + 1; rows.length < steps && at < Math.min(services.length, first + TRACE_ROWS_MAX); at++) {
      if (isTaken[at] === 1 || services[at] !== services[first] || random.happens(0.3)) continue
      isTaken[at] = 1
      rows.push(at)
    }
    units.push({ rows, isTrace })
  }
  return units
}

/**
 * Plants a company on the rows. The service of a row is drawn from weights that its tokens and time give each service;
 * everything else is drawn from the service and its caller.
 *
 * @param rows ascending in time
 * @param phases ascending; the first from 0 on
 */
export function plantCompany(rows: readonly TraceRow[], phases: readonly Phase[], seed: string): CompanyWorld {
  const random = seededRandom(`events ${seed}`)
  const firstMs = rows[0]?.arrivedAtMs ?? 0
  const stretch = LENGTH_MS / ((rows.at(-1)?.arrivedAtMs ?? 0) - firstMs + 1)
  const timed = rows.map((row) => ({ ...row, atMs: Math.floor((row.arrivedAtMs - firstMs) * stretch) }))
  const weights = phases.map(({ company }, phase) =>
    weightsFor(
      company,
      timed.filter(({ atMs }) => phaseAt(phases, atMs) === phase),
    ),
  )
  const services = timed.map((row) => {
    const phase = phaseAt(phases, row.atMs)
    const { company } = phases[phase] as Phase
    return pickIndex(random, serviceWeights(company, row, weights[phase] ?? []))
  })
  const events: CompanyEvent[] = []
  for (const [number, { rows, isTrace }] of unitsOf(services, random).entries()) {
    const own = rows.map((row) => timed[row] as TimedRow)
    const { company } = phases[phaseAt(phases, own[0]?.atMs ?? 0)] as Phase
    const service = company.services[services[rows[0] ?? 0] ?? 0] as CompanyService
    const caller = pickCaller(random, service.callers)
    const traceId = isTrace ? `trace-${seed}-${number}` : undefined
    for (const row of own) events.push(eventOf(row, company, service, caller, traceId, random))
  }
  return {
    phases,
    weights,
    events: events.sort((one, other) => one.atMs - other.atMs || (one.rowId < other.rowId ? -1 : 1)),
  }
}

interface TimedRow extends TraceRow {
  readonly atMs: number
}

const phaseAt = (phases: readonly Phase[], atMs: number): number => phases.findLastIndex(({ fromMs }) => fromMs <= atMs)

function eventOf(
  row: TimedRow,
  company: Company,
  service: CompanyService,
  caller: Caller,
  traceId: string | undefined,
  random: Random,
): CompanyEvent {
  const layerAt = pickIndex(random, service.layers)
  const layer = LAYERS[layerAt] as Layer
  const modelAt = pickIndex(
    random,
    COMPANY_MODELS.map((_, model) => modelShare(service.habits, caller, model)),
  )
  const { provider, model } = COMPANY_MODELS[modelAt] as (typeof COMPANY_MODELS)[number]
  const { atMs, rowId, inputTokens, outputTokens } = row
  return {
    rowId,
    atMs,
    inputTokens,
    outputTokens,
    latencyMs: Math.round(250 + 400 * random.share() + outputTokens * (12 + 10 * random.share())),
    provider,
    model,
    layer,
    principal: layer === 'application' ? pickName(random, service.credentials) : layer,
    caller: caller.name,
    statesIdentity: random.happens(company.statesIdentity[layerAt] ?? 0),
    statesService: random.happens(service.statesService[layerAt] ?? 0),
    traceId,
    service: service.name,
    owner: service.owner,
    isShadow: service.isShadow,
    isHistory: atMs < HISTORY_SHARE * LENGTH_MS,
    isAudited: random.happens(AUDIT_SHARE),
  }
}

/** Of each service for a row; proportional to probabilities. */
function serviceWeights(company: Company, row: TimedRow, scale: readonly number[]): number[] {
  const logs = company.services.map(
    ({ habits }, i) => Math.log(scale[i] ?? 0) + logLook(habits, row.inputTokens, row.outputTokens, row.atMs),
  )
  const most = Math.max(...logs)
  return logs.map((log) => Math.exp(log - most))
}

const ROUNDS = 12

/** Weights by which each service gets its share of the rows, whatever their sizes and times are. */
function weightsFor(company: Company, rows: readonly TimedRow[]): number[] {
  let scale = company.services.map(({ share }) => share)
  for (let round = 0; round < ROUNDS && rows.length > 0; round++) {
    const got = scale.map(() => 0)
    for (const row of rows) {
      const weights = serviceWeights(company, row, scale)
      const total = sumOf(weights)
      for (const [i, weight] of weights.entries()) got[i] = (got[i] ?? 0) + weight / total
    }
    scale = scale.map((weight, i) => {
      const wanted = company.services[i]?.share ?? 0
      return wanted === 0 ? 0 : (weight * wanted) / Math.max((got[i] ?? 0) / rows.length, wanted / 50)
    })
  }
  return scale
}

export const companyAt = (phases: readonly Phase[], atMs: number): readonly [company: Company, phase: number] => {
  const phase = phaseAt(phases, atMs)
  return [(phases[phase] as Phase).company, phase]
}

/** Log density of sizes and time. */
export function logLook({ input, output, times }: Habits, inputTokens: number, outputTokens: number, atMs: number) {
  return (
    logDensity(Math.log(inputTokens), input) +
    logDensity(Math.log(outputTokens), output) +
    Math.log(times[slotOf(atMs)])
  )
}

function logDensity(logTokens: number, [median, sigma]: readonly [number, number]): number {
  const distance = (logTokens - Math.log(median)) / sigma
  return -0.5 * distance * distance - Math.log(sigma)
}

function slotOf(atMs: number): 0 | 1 | 2 {
  if (Math.floor(atMs / DAY_MS) % 7 >= 5) return 2
  const hour = (atMs % DAY_MS) / 3_600_000
  return hour >= 8 && hour < 18 ? 0 : 1
}

function softmax(logs: readonly number[]): number[] {
  const weights = logs.map((log) => Math.exp(log))
  const total = sumOf(weights)
  return weights.map((weight) => weight / total)
}

const sumOf = (list: readonly number[]): number => list.reduce((sum, one) => sum + one, 0)

/** Box-Muller transform. */
const normal = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random.share())) * Math.cos(2 * Math.PI * random.share())

function shuffled<T>(random: Random, list: readonly T[]): T[] {
  const left = [...list]
  return list.map(() => left.splice(random.whole(0, left.length - 1), 1)[0] as T)
}

const pickCaller = (random: Random, list: readonly Caller[]): Caller =>
  list[
    pickIndex(
      random,
      list.map(({ weight }) => weight),
    )
  ] as Caller

const pickName = (random: Random, list: readonly Weighted[]): string =>
  (
    list[
      pickIndex(
        random,
        list.map(({ weight }) => weight),
      )
    ] as Weighted
  ).name

function pickIndex(random: Random, weights: readonly number[]): number {
  let rest = random.share() * sumOf(weights)
  for (const [i, weight] of weights.entries()) {
    rest -= weight
    if (rest < 0) return i
  }
  return weights.findLastIndex((weight) => weight > 0)
}
