import { LRUCache } from 'lru-cache'
import { HEURISTIC_CONFIDENCE_MAX } from '../../../inference/learning/heuristic.js'
import { UNASSIGNED } from '../../../records/interpretation.js'
import type { ClassCount, CountedWindow } from '../../../store/queries/attribution/resolved-classes.js'
import { type Alternative, probabilityText } from '../../records/row.js'
import { traceWindowOf } from './inference-facts.js'
import type { Lookups } from './lookups.js'

/**
 * The baseline's guess for a call that no model serves: the most frequent result of similar calls resolved by facts.
 */
export interface BaselineGuess {
  readonly service: string
  readonly owner: string
  /** Ten-thousandths. */
  readonly confidence: number
  readonly share: string
  readonly alternatives: readonly Alternative[]
  /** The counts behind the guess, so that a person can verify it. */
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

/** The fields of a call that the baseline uses. */
export interface BaselineCall {
  readonly principal: string
  readonly statesIdentity: boolean
  readonly traceId: string | undefined
  readonly eventTimeMs: number
}

const HOUR_MS = 60 * 60 * 1000
/** The period before a call in which its principal's calls are counted, by event time (which may be long ago). */
const PRINCIPAL_WINDOW_MS = 24 * HOUR_MS
/** With fewer resolved calls of a principal there is no guess. */
const PRINCIPAL_RECORDS_MIN = 10
/**
 * A credential of more classes is that of a gateway or a platform: what most of its calls are says nothing about the
 * others, unless nearly all of them are the same.
 */
const PRINCIPAL_CLASSES_MAX = 3
const OVERWHELMING_SHARE = 0.9
/**
 * Minimum time that counts are cached. After a slow query they are cached longer, so that queries take about 1 % of the
 * time.
 */
const CACHE_MS_MIN = 5_000
const CACHE_MS_PER_QUERY_MS = 100
/** Maximum age of the counts behind a guess, even if the read model is slow or fails: new records count after that. */
const CACHE_MS_MAX = 30_000
/** Maximum number of cached counts, each of one tenant and hour. */
const CACHE_ENTRIES_MAX = 1_000

type Classes = ReadonlyMap<string, readonly ClassCount[]>

/**
 * Instants, milliseconds since the epoch; undefined if nothing was counted. Traces have an instant of their own: they
 * are too young for cached counts.
 */
export interface CountedAsOf {
  readonly principalsMs?: number | undefined
  readonly tracesMs?: number | undefined
}

interface Counted {
  readonly asOfMs: number
  readonly classes: Classes
  /** When counting began, and the end of freshness, by the monotonic clock. */
  readonly sinceMs: number
  readonly untilMs: number
}

/**
 * Guesses the most frequent service and owner of the same trace, else of the same principal, among calls resolved by
 * facts. Not of a principal that many share, nor for a call that says who made it: others use its credential, too.
 */
export class Baseline {
  private readonly deps: BaselineDeps
  private readonly counted = new LRUCache<string, Counted>({ max: CACHE_ENTRIES_MAX })

  constructor(deps: BaselineDeps) {
    this.deps = deps
  }

  /**
   * Returns one guess, or undefined, per call of a tenant, in order, and the instants as of which records were counted.
   *
   * @param asOf the instants of an earlier attempt, to count as of the same ones again
   */
  async guess(
    tenantId: string,
    calls: readonly BaselineCall[],
    asOf: CountedAsOf,
    lookups: Lookups,
  ): Promise<{ readonly guesses: readonly (BaselineGuess | undefined)[]; readonly asOf: CountedAsOf }> {
    const ofPrincipals = await this.principals(tenantId, hourAfter(calls), asOf.principalsMs, lookups)
    const ofTraces = await this.traces(tenantId, calls, asOf.tracesMs, lookups)
    const guesses = calls.map(({ principal, statesIdentity, traceId }) => {
      const ofTrace = traceId === undefined ? undefined : ofTraces?.classes.get(traceId)
      // A trace with two services gets no guess, regardless of their order and of the principal's other calls.
      if (hasSeveralServices(ofTrace)) return undefined
      const ofPrincipal = statesIdentity ? undefined : evidenceOf(ofPrincipals?.classes.get(principal))
      return guessFrom(ofTrace, 'trace', 1) ?? guessFrom(ofPrincipal, 'principal', PRINCIPAL_RECORDS_MIN)
    })
    return { guesses, asOf: { principalsMs: ofPrincipals?.asOfMs, tracesMs: ofTraces?.asOfMs } }
  }

  private async principals(
    tenantId: string,
    toMs: number,
    wantedAsOfMs: number | undefined,
    lookups: Lookups,
  ): Promise<Counted | undefined> {
    const key = `${tenantId} ${toMs}`
    const known = this.counted.get(key)
    if (known !== undefined) {
      if (wantedAsOfMs === known.asOfMs) return known
      if (wantedAsOfMs === undefined && performance.now() < known.untilMs) return known
    }
    const counted = await lookups.within(async () => {
      const sinceMs = performance.now()
      const asOfMs = wantedAsOfMs ?? (await lookups.completeAsOf())
      const from = performance.now()
      const window = { tenantId, fromMs: toMs - PRINCIPAL_WINDOW_MS, toMs, asOfMs }
      const classes = groupByKey(await this.deps.byPrincipal(window))
      const now = performance.now()
      const wantedMs = Math.max(CACHE_MS_MIN, CACHE_MS_PER_QUERY_MS * (now - from))
      const fresh = { asOfMs, classes, sinceMs, untilMs: Math.min(now + wantedMs, sinceMs + CACHE_MS_MAX) }
      this.counted.set(key, fresh)
      return fresh
    })
    // Expired counts are better than none, but not beyond their maximum age.
    return counted ?? (known !== undefined && performance.now() < known.sinceMs + CACHE_MS_MAX ? known : undefined)
  }

  private async traces(
    tenantId: string,
    calls: readonly BaselineCall[],
    wantedAsOfMs: number | undefined,
    lookups: Lookups,
  ): Promise<Pick<Counted, 'asOfMs' | 'classes'> | undefined> {
    const traced = traceWindowOf(calls)
    if (traced === undefined) return undefined
    const { traceIds, ...window } = traced
    return lookups.within(async () => {
      const asOfMs = wantedAsOfMs ?? (await lookups.completeAsOf())
      return { asOfMs, classes: groupByKey(await this.deps.ofTraces({ tenantId, ...window, asOfMs }, traceIds)) }
    })
  }
}

/** The full hour after the latest call, so that calls of the same hour share the same counts. */
const hourAfter = (calls: readonly BaselineCall[]): number =>
  (Math.floor(calls.reduce((latest, { eventTimeMs }) => Math.max(latest, eventTimeMs), 0) / HOUR_MS) + 1) * HOUR_MS

function groupByKey(counts: readonly ClassCount[]): Classes {
  const classes = new Map<string, ClassCount[]>()
  for (const count of counts) {
    const others = classes.get(count.of)
    if (others === undefined) classes.set(count.of, [count])
    else others.push(count)
  }
  return classes
}

const hasSeveralServices = (classes: readonly ClassCount[] = []): boolean =>
  classes.some(({ service }) => service !== classes[0]?.service)

/** The classes of a principal, where they are evidence for the commonest of them. */
function evidenceOf(classes: readonly ClassCount[] | undefined): readonly ClassCount[] | undefined {
  const [most] = classes ?? []
  if (classes === undefined || most === undefined || most.service === UNASSIGNED) return undefined
  return classes.length <= PRINCIPAL_CLASSES_MAX || most.n >= most.total * OVERWHELMING_SHARE ? classes : undefined
}

function guessFrom(
  classes: readonly ClassCount[] | undefined,
  basis: BaselineGuess['evidence']['most_frequent_of'],
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
    evidence: { most_frequent_of: basis, resolved_records: most.total, of_this_class: most.n },
  }
}
