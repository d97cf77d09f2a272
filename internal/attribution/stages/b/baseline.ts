import { LRUCache } from 'lru-cache'
import type { ClassCount, CountedWindow } from '../../../store/queries/attribution/resolved-classes.js'
import { HEURISTIC_CONFIDENCE_MAX } from '../../inference/learning/heuristic.js'
import type { Alternative } from '../../records/row.js'
import type { LookUps } from './look-ups.js'
import { probabilityText } from './probability.js'
import { traceWindowOf } from './trace-window.js'

/** What the fail-open baseline says of a call (spec 2.3, rule 2): what facts say of most calls like it. */
export interface BaselineGuess {
  readonly service: string
  readonly owner: string
  /** Ten-thousandths. */
  readonly confidence: number
  readonly share: string
  readonly alternatives: readonly Alternative[]
  /** What it is counted over, so that a person can count again. */
  readonly evidence: {
    readonly most_frequent_of: 'trace' | 'principal'
    readonly resolved_records: number
    readonly of_this_class: number
  }
}

export interface BaselineDeps {
  readonly byPrincipal: (window: CountedWindow) => Promise<readonly ClassCount[]>
  readonly ofTraces: (window: CountedWindow, traceIds: readonly string[]) => Promise<readonly ClassCount[]>
}

/** A call of a tenant, as far as the baseline looks at it. */
export interface BaselineCall {
  readonly principal: string
  readonly traceId: string | undefined
  readonly eventTimeMs: number
}

const HOUR_MS = 60 * 60 * 1000
/** Of a principal, what became of its calls in so long before counts; by the calls' own time, which may be long ago. */
const PRINCIPAL_WINDOW_MS = 24 * HOUR_MS
/** Fewer of a principal's calls say nothing of the next one. */
const PRINCIPAL_RECORDS_MIN = 10
/** Counts are used again for so long, and longer where counting took long: about a hundredth of the time goes into it. */
const KEPT_MS_MIN = 5_000
const KEPT_PER_COUNTED = 100
/** What has come to be known is used within so long, however slow the read model. */
const KEPT_MS_MAX = 30_000
/** Tenants, each at an hour. */
const COUNTED_MAX = 1_000

type Classes = ReadonlyMap<string, readonly ClassCount[]>

/** Instants, milliseconds since the epoch; undefined where nothing was counted. A trace is young: its counts cannot be of a moment ago. */
export interface CountedAsOf {
  readonly principalsMs?: number | undefined
  readonly tracesMs?: number | undefined
}

interface Counted {
  readonly asOfMs: number
  readonly classes: Classes
  /** Until when it is fresh, by the monotonic clock. */
  readonly untilMs: number
}

/** The most frequent service and owner of the same trace, else of the same principal, as facts have resolved them. */
export class Baseline {
  private readonly deps: BaselineDeps
  private readonly counted = new LRUCache<string, Counted>({ max: COUNTED_MAX })

  constructor(deps: BaselineDeps) {
    this.deps = deps
  }

  /**
   * One guess or none for each of a tenant's calls, in their order, and the instants as of which records were counted.
   *
   * @param asOf to count as of the same instants again
   */
  async guess(
    tenantId: string,
    calls: readonly BaselineCall[],
    asOf: CountedAsOf,
    lookUps: LookUps,
  ): Promise<{ readonly guesses: readonly (BaselineGuess | undefined)[]; readonly asOf: CountedAsOf }> {
    const ofPrincipals = await this.principals(tenantId, hourAfter(calls), asOf.principalsMs, lookUps)
    const ofTraces = await this.traces(tenantId, calls, asOf.tracesMs, lookUps)
    const guesses = calls.map(({ principal, traceId }) => {
      const ofTrace = traceId === undefined ? undefined : ofTraces?.classes.get(traceId)
      // Two services in one trace: nobody is named, whichever came first, and whatever the sender does else.
      if (namesSeveral(ofTrace)) return undefined
      const ofPrincipal = ofPrincipals?.classes.get(principal)
      return guessFrom(ofTrace, 'trace', 1) ?? guessFrom(ofPrincipal, 'principal', PRINCIPAL_RECORDS_MIN)
    })
    return { guesses, asOf: { principalsMs: ofPrincipals?.asOfMs, tracesMs: ofTraces?.asOfMs } }
  }

  private async principals(
    tenantId: string,
    toMs: number,
    wantedAsOfMs: number | undefined,
    lookUps: LookUps,
  ): Promise<Counted | undefined> {
    const key = `${tenantId} ${toMs}`
    const known = this.counted.get(key)
    if (known !== undefined) {
      if (wantedAsOfMs === known.asOfMs) return known
      if (wantedAsOfMs === undefined && performance.now() < known.untilMs) return known
    }
    const counted = await lookUps.within(async () => {
      const asOfMs = wantedAsOfMs ?? (await lookUps.completeAsOf())
      const from = performance.now()
      const window = { tenantId, fromMs: toMs - PRINCIPAL_WINDOW_MS, toMs, asOfMs }
      const classes = byWhat(await this.deps.byPrincipal(window))
      const now = performance.now()
      const untilMs = now + Math.min(KEPT_MS_MAX, Math.max(KEPT_MS_MIN, KEPT_PER_COUNTED * (now - from)))
      const fresh = { asOfMs, classes, untilMs }
      this.counted.set(key, fresh)
      return fresh
    })
    // Counts of a moment ago are better than none.
    return counted ?? known
  }

  private async traces(
    tenantId: string,
    calls: readonly BaselineCall[],
    wantedAsOfMs: number | undefined,
    lookUps: LookUps,
  ): Promise<Pick<Counted, 'asOfMs' | 'classes'> | undefined> {
    const traced = traceWindowOf(calls)
    if (traced === undefined) return undefined
    const { traceIds, ...window } = traced
    return lookUps.within(async () => {
      const asOfMs = wantedAsOfMs ?? (await lookUps.completeAsOf())
      return { asOfMs, classes: byWhat(await this.deps.ofTraces({ tenantId, ...window, asOfMs }, traceIds)) }
    })
  }
}

/** The full hour after the latest of the calls: calls of the same hour are guessed by the same counts. */
const hourAfter = (calls: readonly BaselineCall[]): number =>
  (Math.floor(calls.reduce((latest, { eventTimeMs }) => Math.max(latest, eventTimeMs), 0) / HOUR_MS) + 1) * HOUR_MS

function byWhat(counts: readonly ClassCount[]): Classes {
  const classes = new Map<string, ClassCount[]>()
  for (const one of counts) {
    const others = classes.get(one.of)
    if (others === undefined) classes.set(one.of, [one])
    else others.push(one)
  }
  return classes
}

const namesSeveral = (classes: readonly ClassCount[] = []): boolean =>
  classes.some(({ service }) => service !== classes[0]?.service)

function guessFrom(
  classes: readonly ClassCount[] | undefined,
  what: BaselineGuess['evidence']['most_frequent_of'],
  recordsMin: number,
): BaselineGuess | undefined {
  const [most, ...others] = classes ?? []
  if (most === undefined || most.total < recordsMin) return undefined
  return {
    service: most.service,
    owner: most.owner,
    confidence: Math.min(HEURISTIC_CONFIDENCE_MAX, Math.floor((most.n * 10_000) / most.total)),
    share: probabilityText(most.n / most.total),
    alternatives: others.map(({ service, owner, n, total }) => ({
      service,
      owner,
      probability: probabilityText(n / total),
    })),
    evidence: { most_frequent_of: what, resolved_records: most.total, of_this_class: most.n },
  }
}
