import { type SparseRows, SparseRowsBuilder } from './sparse-rows.js'

/** A name, or the place of a number under a name. */
type Write = (group: FeatureGroup, name: string, value: number, ordinal?: number) => void

/**
 * What a model may know of an event. The same facts are made from an admitted invocation when it is served and from a
 * stored row when a model is trained on it; nothing here depends on what was attributed.
 */
export interface EventFacts {
  readonly eventTimeMs: number
  readonly provider: string
  /** The served model, else the requested one. */
  readonly model: string
  /** Capture context: which labels an event carries depends on it, so that it moves priors and is no evidence itself. */
  readonly ingestionLayer: string
  /** Capture context: id of the credential that brought the event. */
  readonly principal: string
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly cachedInputTokens?: number | undefined
  readonly reasoningTokens?: number | undefined
  readonly latencyMs?: number | undefined
  readonly serviceTier?: string | undefined
  readonly region?: string | undefined
  /** Hex of the tenant's keyed hash of the stated identity; absent when none was stated. */
  readonly identityHash?: string | undefined
  /** Groups events; never a feature by itself. */
  readonly traceId?: string | undefined
  readonly tags?: Readonly<Record<string, string>> | undefined
  readonly k8sNamespace?: string | undefined
  readonly k8sWorkload?: string | undefined
  readonly workloadIdentity?: string | undefined
  /** Other events of the same trace that are known when this one is looked at, as `withNeighbours` adds them. */
  readonly neighbours?: readonly NeighbourFacts[] | undefined
}

/** What an event's trace says about it. */
export interface NeighbourFacts {
  readonly provider: string
  readonly model: string
  readonly inputTokens?: number | undefined
}

/** Groups of features, as a model card names them. */
export const FEATURE_GROUPS = [
  'provider',
  'model',
  'input_tokens',
  'output_tokens',
  'token_shape',
  'model_and_tokens',
  'cached_share',
  'reasoning_share',
  'latency',
  'hour',
  'service_tier',
  'region',
  'identity',
  'tags',
  'kubernetes',
  'trace_neighbours',
] as const
export type FeatureGroup = (typeof FEATURE_GROUPS)[number]

/** Features are hashed into so many slots; two that meet share a weight. */
export const FEATURE_SLOTS = 1 << 16

const HOUR_MS = 3_600_000
/** 1 January 1970 was a Thursday: from the Monday before it to the epoch. */
const EPOCH_AFTER_MONDAY_MS = 3 * 24 * HOUR_MS
const WEEK_HOURS = 168
const NEIGHBOURS_MAX = 16

/** Steps of the piecewise linear functions, in powers of two. */
const FINE_STEP = 0.5
const COARSE_STEP = 1
/** More than the logarithm of any count. */
const GRID_WIDTH = 128

/**
 * One sparse row an event. Quantities become the two nearest knots of a piecewise linear function of their logarithm,
 * so that neighbours in size share evidence; names become one slot each. What an event does not state has no feature
 * at all: that it is missing tells how it was captured, not who caused it.
 *
 * The capture context (layer, principal) is left out: see `contextOf`.
 *
 * @param leftOut whether a group is passed over for an event, by its index
 */
export function featuresOf(
  events: readonly EventFacts[],
  leftOut: (group: FeatureGroup, index: number) => boolean = () => false,
): SparseRows {
  const rows = new SparseRowsBuilder(events.length)
  let index = 0
  const write: Write = (group, name, value, ordinal) => {
    if (!leftOut(group, index)) rows.add(slotOf(group, name, ordinal), value)
  }
  for (; index < events.length; index++) {
    const event = events[index] as EventFacts
    writeNames(write, event)
    writeQuantities(write, event)
    writeHour(write, event.eventTimeMs)
    writeNeighbours(write, event.neighbours)
    rows.endRow()
  }
  return rows.build()
}

function writeNames(write: Write, event: EventFacts): void {
  write('provider', event.provider, 1)
  write('model', event.model, 1)
  if (event.serviceTier) write('service_tier', event.serviceTier, 1)
  if (event.region) write('region', event.region, 1)
  if (event.identityHash) write('identity', event.identityHash, 1)
  if (event.k8sNamespace) write('kubernetes', `n ${event.k8sNamespace}`, 1)
  if (event.k8sWorkload) write('kubernetes', `w ${event.k8sWorkload}`, 1)
  if (event.workloadIdentity) write('kubernetes', `i ${event.workloadIdentity}`, 1)
  for (const key in event.tags) write('tags', `${key}\0${event.tags[key]}`, 1)
}

function writeQuantities(write: Write, event: EventFacts): void {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens, latencyMs, model } = event
  if (inputTokens !== undefined) {
    writeKnots(write, 'input_tokens', '', inputTokens, FINE_STEP)
    writeKnots(write, 'model_and_tokens', `i ${model}`, inputTokens, COARSE_STEP)
    if (cachedInputTokens !== undefined) writeShare(write, 'cached_share', cachedInputTokens, inputTokens)
  }
  if (outputTokens !== undefined) {
    writeKnots(write, 'output_tokens', '', outputTokens, FINE_STEP)
    writeKnots(write, 'model_and_tokens', `o ${model}`, outputTokens, COARSE_STEP)
    if (reasoningTokens !== undefined) writeShare(write, 'reasoning_share', reasoningTokens, outputTokens)
  }
  if (inputTokens !== undefined && outputTokens !== undefined) writeShape(write, inputTokens, outputTokens)
  if (latencyMs !== undefined) writeKnots(write, 'latency', '', latencyMs, COARSE_STEP)
}

/** Input and output together: the four nearest knots of a grid. */
function writeShape(write: Write, inputTokens: number, outputTokens: number): void {
  const [a, b] = [Math.log2(1 + inputTokens) / COARSE_STEP, Math.log2(1 + outputTokens) / COARSE_STEP]
  const [i, o] = [Math.floor(a), Math.floor(b)]
  for (const x of [0, 1]) {
    for (const y of [0, 1]) {
      const value = (x === 0 ? 1 - (a - i) : a - i) * (y === 0 ? 1 - (b - o) : b - o)
      if (value > 0) write('token_shape', '', value, (i + x) * GRID_WIDTH + o + y)
    }
  }
}

function writeKnots(write: Write, group: FeatureGroup, of: string, count: number, step: number): void {
  const at = Math.log2(1 + count) / step
  const knot = Math.floor(at)
  const next = at - knot
  if (next < 1) write(group, of, 1 - next, knot)
  if (next > 0) write(group, of, next, knot + 1)
}

/** Tenths; nothing at all is apart. */
function writeShare(write: Write, group: FeatureGroup, part: number, whole: number): void {
  write(group, '', 1, whole === 0 ? 0 : Math.ceil((10 * Math.min(part, whole)) / whole))
}

function writeHour(write: Write, eventTimeMs: number): void {
  const hour = Math.floor((eventTimeMs + EPOCH_AFTER_MONDAY_MS) / HOUR_MS) % WEEK_HOURS
  const isWeekend = hour >= 120
  write('hour', 'of week', 0.5, hour)
  write('hour', isWeekend ? 'of weekend day' : 'of weekday', 1, hour % 24)
  write('hour', 'weekend', 1, Number(isWeekend))
}

function writeNeighbours(write: Write, neighbours: EventFacts['neighbours']): void {
  if (neighbours === undefined || neighbours.length === 0) return
  const seen = neighbours.slice(0, NEIGHBOURS_MAX)
  const part = 1 / seen.length
  for (const { provider, model, inputTokens } of seen) {
    write('trace_neighbours', `${provider}\0${model}`, part)
    if (inputTokens !== undefined) write('trace_neighbours', 'i', part, Math.round(Math.log2(1 + inputTokens)))
  }
}

/**
 * Adds to each event what the others of its trace look like.
 *
 * @param events those that are looked at together, and those of before that are still known
 */
export function withNeighbours(events: readonly EventFacts[]): EventFacts[] {
  const byTrace = new Map<string, EventFacts[]>()
  for (const event of events) {
    if (event.traceId === undefined) continue
    const known = byTrace.get(event.traceId)
    if (known === undefined) byTrace.set(event.traceId, [event])
    else known.push(event)
  }
  return events.map((event) => {
    const others = event.traceId === undefined ? undefined : byTrace.get(event.traceId)
    if (others === undefined || others.length < 2) return event
    const neighbours: NeighbourFacts[] = []
    for (const other of others) {
      if (other === event) continue
      if (neighbours.length === NEIGHBOURS_MAX) break
      neighbours.push({ provider: other.provider, model: other.model, inputTokens: other.inputTokens })
    }
    return { ...event, neighbours }
  })
}

/**
 * How an event was captured, from the general to the special. Labels are missing or there by context, and the mix of
 * services differs between contexts; what one service's calls look like does not.
 */
export const contextsOf = ({ ingestionLayer, principal }: EventFacts): readonly [layer: string, principal: string] => [
  ingestionLayer,
  `${ingestionLayer}\0${principal}`,
]

const GROUP_SEEDS = new Map<FeatureGroup, number>(FEATURE_GROUPS.map((group) => [group, fnv1a(0x811c9dc5, group)]))

/** @returns 0 to `FEATURE_SLOTS` - 1, the same on every machine */
function slotOf(group: FeatureGroup, name: string, ordinal: number | undefined): number {
  const hash = fnv1a(GROUP_SEEDS.get(group) ?? 0, name)
  return finish(ordinal === undefined ? hash : Math.imul(hash ^ (ordinal + 1), 0x01000193))
}

/** FNV-1a over UTF-16 units. */
function fnv1a(seed: number, text: string): number {
  let hash = seed
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}

/** MurmurHash3's last step: FNV alone leaves near values near. */
function finish(hash: number): number {
  let mixed = hash ^ (hash >>> 16)
  mixed = Math.imul(mixed, 0x85ebca6b)
  mixed ^= mixed >>> 13
  mixed = Math.imul(mixed, 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) & (FEATURE_SLOTS - 1)
}
