import { type SparseRows, SparseRowsBuilder } from './sparse-rows.js'

/** Writes a feature with a name, or with a name and an ordinal under it. */
type Write = (group: FeatureGroup, name: string, value: number, ordinal?: number) => void

/**
 * The facts of an event that a model may use. Serving derives them from an admitted invocation and training from a
 * stored row, with the same result; none depends on the attribution.
 */
export interface EventFacts {
  readonly eventTimeMs: number
  readonly provider: string
  /** The served model, else the requested one. */
  readonly model: string
  /** Capture context: it determines which labels an event carries, so it changes priors and is not itself evidence. */
  readonly ingestionLayer: string
  /** Capture context: id of the credential that submitted the event. */
  readonly principal: string
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly cachedInputTokens?: number | undefined
  readonly reasoningTokens?: number | undefined
  readonly latencyMs?: number | undefined
  readonly serviceTier?: string | undefined
  readonly region?: string | undefined
  /**
   * The tenant's keyed hash of the identity in the event, in hex, or of that of its trace; absent when there is none.
   */
  readonly identityHash?: string | undefined
  /** Whether only other events of the trace state the identity. */
  readonly isIdentityOfTrace?: true | undefined
  /** Groups events; not a feature itself. */
  readonly traceId?: string | undefined
  readonly tags?: Readonly<Record<string, string>> | undefined
  readonly k8sNamespace?: string | undefined
  readonly k8sWorkload?: string | undefined
  readonly workloadIdentity?: string | undefined
  /** Other known events of the same trace, added by `withNeighbours`. */
  readonly neighbours?: readonly NeighbourFacts[] | undefined
}

/** Facts of another event of the same trace. */
export interface NeighbourFacts {
  readonly provider: string
  readonly model: string
  readonly inputTokens?: number | undefined
}

/** Groups of features, with the names used in a model card. */
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
  'model_and_hour',
] as const
export type FeatureGroup = (typeof FEATURE_GROUPS)[number]

/** The form of a model determines its features: weights are valid only with the features that they were trained on. */
export const MODEL_FORM = 2
/** Number of slots that features are hashed into; features that collide share a weight. A power of two. */
export const FEATURE_SLOTS = 1 << 20

const HOUR_MS = 3_600_000
/** From Monday to the epoch: 1 January 1970 was a Thursday. */
const EPOCH_AFTER_MONDAY_MS = 3 * 24 * HOUR_MS
const WEEK_HOURS = 168
const NEIGHBOURS_MAX = 16
/** Each neighbour is separate evidence, but steps of one trace resemble each other. */
const SUMMED_NEIGHBOURS_MAX = 4

/** Steps of the piecewise linear functions, in powers of two. */
const FINE_STEP = 0.5
const COARSE_STEP = 1
/** Greater than the logarithm of any count. */
const GRID_WIDTH = 128

export interface FeatureOptions {
  /** Whether to omit a group for the event with this index. */
  readonly leftOut?: (group: FeatureGroup, index: number) => boolean
}

/**
 * One sparse row per event. A quantity becomes the two nearest knots of a piecewise linear function of its logarithm,
 * so that similar quantities share evidence; a name becomes one slot. A missing fact has no feature at all, because its
 * absence depends on how the event was captured and not on who caused it.
 *
 * The capture context (layer, principal) is left out: see `contextsOf`.
 */
export function featuresOf(events: readonly EventFacts[], { leftOut }: FeatureOptions = {}): SparseRows {
  const mask = FEATURE_SLOTS - 1
  const rows = new SparseRowsBuilder(events.length)
  let index = 0
  const write: Write = (group, name, value, ordinal) => {
    if (leftOut?.(group, index) !== true) rows.add(slotOf(group, name, ordinal) & mask, value)
  }
  for (; index < events.length; index++) {
    const event = events[index] as EventFacts
    writeNames(write, event)
    writeQuantities(write, event)
    writeHour(write, event.eventTimeMs)
    writeModelAndHour(write, event)
    writeNeighbours(write, event.neighbours)
    rows.endRow()
  }
  return rows.build()
}

function writeModelAndHour(write: Write, { model, eventTimeMs }: EventFacts): void {
  const hour = hourOfWeek(eventTimeMs)
  write('model_and_hour', model, 1, (hour >= 120 ? 6 : 0) + ((hour % 24) >> 2))
}

function writeNeighbours(write: Write, neighbours: EventFacts['neighbours']): void {
  for (const other of neighbours?.slice(0, SUMMED_NEIGHBOURS_MAX) ?? []) {
    write('trace_neighbours', other.model, 1)
    if (other.inputTokens !== undefined) write('trace_neighbours', 'i', 1, Math.round(Math.log2(1 + other.inputTokens)))
  }
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
    writeKnots(write, 'model_and_tokens', `i ${model}`, inputTokens, FINE_STEP)
    if (cachedInputTokens !== undefined) writeShare(write, 'cached_share', cachedInputTokens, inputTokens)
  }
  if (outputTokens !== undefined) {
    writeKnots(write, 'output_tokens', '', outputTokens, FINE_STEP)
    writeKnots(write, 'model_and_tokens', `o ${model}`, outputTokens, FINE_STEP)
    if (reasoningTokens !== undefined) writeShare(write, 'reasoning_share', reasoningTokens, outputTokens)
  }
  if (inputTokens !== undefined && outputTokens !== undefined) writeShape(write, inputTokens, outputTokens)
  if (latencyMs !== undefined) writeKnots(write, 'latency', '', latencyMs, COARSE_STEP)
}

/** Input and output tokens together: the four nearest knots of a grid. */
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

/** In tenths; zero has a slot of its own. */
function writeShare(write: Write, group: FeatureGroup, part: number, whole: number): void {
  write(group, '', 1, whole === 0 ? 0 : Math.ceil((10 * Math.min(part, whole)) / whole))
}

function writeHour(write: Write, eventTimeMs: number): void {
  const hour = hourOfWeek(eventTimeMs)
  const isWeekend = hour >= 120
  write('hour', 'of week', 0.5, hour)
  write('hour', isWeekend ? 'of weekend day' : 'of weekday', 1, hour % 24)
  write('hour', 'weekend', 1, Number(isWeekend))
}

const hourOfWeek = (eventTimeMs: number): number =>
  Math.floor((eventTimeMs + EPOCH_AFTER_MONDAY_MS) / HOUR_MS) % WEEK_HOURS

/**
 * Adds to each event the facts of the other events of its trace. An event that states no identity gets theirs, if they
 * state exactly one: its weight for such events is learned from labelled ones, too.
 *
 * @param events the events of this batch, and earlier events that are still known
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
    const identities = new Set<string>()
    for (const other of others) {
      if (other === event) continue
      if (neighbours.length === NEIGHBOURS_MAX) break
      neighbours.push({ provider: other.provider, model: other.model, inputTokens: other.inputTokens })
      if (other.identityHash) identities.add(other.identityHash)
    }
    const [ofTrace, ...further] = identities
    if (event.identityHash || ofTrace === undefined || further.length > 0) return { ...event, neighbours }
    return { ...event, identityHash: ofTrace, isIdentityOfTrace: true, neighbours }
  })
}

const GROUP_SEEDS = new Map<FeatureGroup, number>(FEATURE_GROUPS.map((group) => [group, fnv1a(0x811c9dc5, group)]))

/** The slot of an identity. */
export const identitySlot = (identityHash: string): number =>
  slotOf('identity', identityHash, undefined) & (FEATURE_SLOTS - 1)

/** @returns 32 bits, the same on every machine */
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

/** The finaliser of MurmurHash3: FNV alone maps similar values to similar hashes. */
function finish(hash: number): number {
  let mixed = hash ^ (hash >>> 16)
  mixed = Math.imul(mixed, 0x85ebca6b)
  mixed ^= mixed >>> 13
  mixed = Math.imul(mixed, 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}
