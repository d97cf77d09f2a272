import { Contexts, type CountedClass, type Examples, type Labelled, seededShare, type Unlabelled } from './examples.js'
import { type EventFacts, featuresOf, identitySlot } from './features.js'
import {
  identityLogs,
  indices,
  type KnownClasses,
  knownLogits,
  type LabelledExamples,
  learnKnownClasses,
  lookOf,
  lookTemperature,
} from './known-classes.js'
import type { CardPattern, ModelParameters } from './model.js'
import { learnOpenClasses } from './open-classes.js'
import { estimateServedMix, logRatio, type ServedMix } from './served-mix.js'
import { compact } from './sparse-rows.js'
import { asStageBMeetsIt, contextNamed, type DirectoryFacts, PATTERNS, patternOf } from './views.js'

/** What is settled on held-out events and kept when the model is fitted again on all of them. */
export interface Settled {
  readonly temperature: number
  readonly bounds: readonly number[]
}

export interface LearnOptions {
  readonly seed: number
  readonly directory: DirectoryFacts
  /** Later labelled events, on which to choose the temperature. */
  readonly later?: readonly Labelled[]
  /** What an earlier fit has settled, and where to start from. */
  readonly settled?: Settled
  readonly start?: KnownClasses
}

export interface Learned {
  readonly parameters: ModelParameters
  /** Share of each class of the card, and of the unknown class, in the unresolved traffic. */
  readonly shares: Float64Array
  readonly patterns: readonly CardPattern[]
  readonly known: KnownClasses
  readonly settled: Settled
  readonly isFamiliar: (identityHash: string) => boolean
}

/** Labelled events beyond this are sampled, fewer of frequent classes: a class is described by some hundreds of events. */
const LABELLED_MAX = 40_000
const UNLABELLED_MAX = 50_000
const RARE_MAX = 2_000

export function learn(examples: Examples, classes: readonly CountedClass[], options: LearnOptions): Learned {
  const { seed, directory } = options
  const closed = classes.flatMap(({ isOpen }, c) => (isOpen ? [] : [c]))
  const placeOf = new Map(closed.map((c, place) => [c, place]))
  const labelled = sampled(examples.resolved, placeOf, directory, seed)
  const unlabelled = examples.unlabelled.filter(
    ({ override }, i) =>
      override !== undefined || seededShare(seed + 5, i) < UNLABELLED_MAX / Math.max(1, examples.unlabelled.length),
  )
  const audited = unlabelled.flatMap(({ facts, override }) => {
    const label = override === undefined ? undefined : placeOf.get(override)
    return label === undefined ? [] : [{ facts, label, weight: AUDITED_WEIGHT }]
  })
  const taught = examplesOf([...labelled, ...audited])
  const later = options.later && examplesOf(asServed(options.later, placeOf, directory))
  let temperature = options.settled?.temperature ?? 1
  const known = learnKnownClasses(
    taught,
    closed.length,
    (look) => {
      if (options.settled === undefined && later !== undefined && later.facts.length > 0) {
        temperature = lookTemperature(look, later)
      }
      return temperature
    },
    options.start,
  )
  const identities = identityLogs(taught, closed.length)
  const isFamiliar = (identityHash: string): boolean => identities.has(identityHash)
  const contexts = new Contexts()
  const rare = examples.resolved.filter(({ label }) => !placeOf.has(label)).slice(-RARE_MAX)
  const prepared = prepare(labelled, rare, unlabelled, known, placeOf, contexts, identities)
  const mix = estimateServedMix({
    ...prepared.input,
    baseShares: sharesOf(taught, closed.length),
    seed,
    bounds: options.settled?.bounds,
  })
  const counts = new Map<string, number>()
  for (const number of prepared.input.unlabelled.contexts.at(-1) ?? []) {
    const name = contexts.names[number] ?? ''
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const bare = parametersOf(
    known,
    mix,
    prepared.slots,
    classes,
    closed,
    contexts,
    sharesOf(taught, closed.length),
    counts,
  )
  const parameters = withIdentities(bare, identities, mix.identityOthers, closed)
  addOpenClasses(parameters, unlabelled, classes, placeOf)
  return {
    parameters,
    shares: spread(mix.served, classes, closed),
    patterns: patternsOf(prepared.input.unlabelled.pattern, mix.unknown),
    known,
    settled: { temperature, bounds: mix.bounds },
    isFamiliar,
  }
}

/** An audit is a labelled event of exactly the traffic that is served. */
const AUDITED_WEIGHT = 3

interface Taught {
  readonly facts: EventFacts
  readonly label: number
  readonly weight: number
}

const examplesOf = (list: readonly Taught[]): LabelledExamples => ({
  facts: list.map(({ facts }) => facts),
  label: Uint16Array.from(list, ({ label }) => label),
  weight: Float64Array.from(list, ({ weight }) => weight),
})

const asServed = (
  events: readonly Labelled[],
  placeOf: ReadonlyMap<number, number>,
  directory: DirectoryFacts,
): Taught[] =>
  events.flatMap(({ facts, label }) => {
    const place = placeOf.get(label)
    return place === undefined ? [] : [{ facts: asStageBMeetsIt(facts, directory), label: place, weight: 1 }]
  })

/** At most `LABELLED_MAX`, weighted so that each class keeps its share. */
function sampled(
  events: readonly Labelled[],
  placeOf: ReadonlyMap<number, number>,
  directory: DirectoryFacts,
  seed: number,
): Taught[] {
  const all = asServed(events, placeOf, directory)
  if (all.length <= LABELLED_MAX) return all
  const counts = new Float64Array(placeOf.size)
  for (const { label } of all) counts[label] = (counts[label] ?? 0) + 1
  let most = LABELLED_MAX
  const kept = (): number => counts.reduce((sum, count) => sum + Math.min(count, most), 0)
  while (kept() > LABELLED_MAX) most *= 0.9
  return all.flatMap((one, i) => {
    const rate = Math.min(1, most / (counts[one.label] ?? 1))
    return seededShare(seed + 3, i) < rate ? [{ ...one, weight: 1 / rate }] : []
  })
}

function sharesOf({ label, weight }: LabelledExamples, classes: number): Float64Array {
  const shares = new Float64Array(classes)
  let total = 0
  for (const [i, c] of label.entries()) {
    shares[c] = (shares[c] ?? 0) + (weight[i] ?? 0)
    total += weight[i] ?? 0
  }
  return shares.map((share) => share / total)
}

function prepare(
  labelled: readonly Taught[],
  rare: readonly Labelled[],
  unlabelled: readonly Unlabelled[],
  known: KnownClasses,
  placeOf: ReadonlyMap<number, number>,
  contexts: Contexts,
  identities: ReadonlyMap<string, Float64Array>,
) {
  const classes = placeOf.size
  const facts = unlabelled.map((one) => one.facts)
  const { columns: slots, rows } = compact(
    lookOf([...labelled.map((one) => one.facts), ...rare.map((one) => one.facts), ...facts]),
  )
  const patterns = facts.map((one) => patternOf(one, (identityHash) => identities.has(identityHash)))
  const numbers = new Map([...identities.keys()].map((identity, number) => [identity, number]))
  const levels = contexts.of(facts, patterns)
  const first = labelled.length + rare.length
  const input = {
    classes,
    rows,
    features: slots.length,
    labelled: {
      row: indices(labelled.length),
      label: Uint16Array.from(labelled, ({ label }) => label),
      weight: Float64Array.from(labelled, ({ weight }) => weight),
    },
    rare: Uint32Array.from(rare, (_, i) => labelled.length + i),
    unlabelled: {
      row: Uint32Array.from(unlabelled, (_, i) => first + i),
      logits: knownLogits(known, featuresOf(facts, { leftOut: (group) => group === 'identity' })),
      identity: Int32Array.from(facts, ({ identityHash }) => numbers.get(identityHash ?? '') ?? -1),
      contexts: levels,
      pattern: Uint8Array.from(patterns, (pattern) => PATTERNS.indexOf(pattern)),
      known: Int16Array.from(unlabelled, ({ override }) =>
        override === undefined ? -1 : (placeOf.get(override) ?? classes),
      ),
      excluded: Int16Array.from(unlabelled, ({ dispute }) =>
        dispute === undefined ? -1 : (placeOf.get(dispute) ?? -1),
      ),
    },
    identities: [...identities.values()],
    contexts: contexts.names.length,
    likelier: likelierOf(labelled, facts, levels, classes, contexts.names.length),
    patterns: PATTERNS.length,
  }
  return { slots, input }
}

const PRINCIPAL_STRENGTH = 5

/**
 * Of each context with a credential: log of how much likelier a class's calls are to come with it than those of the layer,
 * from labelled events of the layer. Which services use a credential does not depend on whether they state their names.
 */
function likelierOf(
  labelled: readonly Taught[],
  facts: readonly EventFacts[],
  levels: readonly Int32Array[],
  classes: number,
  contexts: number,
): (context: number) => Float64Array | undefined {
  const counts = new Map<string, Float64Array>()
  const count = (key: string, label: number, weight: number): void => {
    const own = counts.get(key) ?? new Float64Array(classes)
    own[label] = (own[label] ?? 0) + weight
    counts.set(key, own)
  }
  for (const {
    facts: { ingestionLayer, principal },
    label,
    weight,
  } of labelled) {
    count(ingestionLayer, label, weight)
    count(`${ingestionLayer}\0${principal}`, label, weight)
  }
  const sizes = new Float64Array(contexts)
  const parents = new Int32Array(contexts).fill(-1)
  const first = new Map<number, EventFacts>()
  for (const [i, one] of facts.entries()) {
    const [, layer, principal] = levels.map((level) => level[i] ?? 0) as [number, number, number]
    sizes[layer] = (sizes[layer] ?? 0) + 1
    sizes[principal] = (sizes[principal] ?? 0) + 1
    parents[principal] = layer
    if (!first.has(principal)) first.set(principal, one)
  }
  const known = new Map<number, Float64Array>()
  for (const [context, { ingestionLayer, principal }] of first) {
    const expected = (sizes[context] ?? 0) / (sizes[parents[context] ?? 0] ?? 1)
    const own = counts.get(`${ingestionLayer}\0${principal}`)
    const all = counts.get(ingestionLayer)
    const logs = new Float64Array(classes + 1)
    for (let c = 0; c < classes; c++) {
      const share = ((own?.[c] ?? 0) + PRINCIPAL_STRENGTH * expected) / ((all?.[c] ?? 0) + PRINCIPAL_STRENGTH)
      logs[c] = Math.log(share / expected)
    }
    known.set(context, logs)
  }
  return (context) => known.get(context)
}

function parametersOf(
  known: KnownClasses,
  { shares, mixes, other, discounts }: ServedMix,
  otherSlots: Uint32Array,
  classes: readonly CountedClass[],
  closed: readonly number[],
  contexts: Contexts,
  baseShares: Float64Array,
  counts: ReadonlyMap<string, number>,
): ModelParameters {
  const columns = classes.length + 1
  const count = closed.length
  const slots = Uint32Array.from(new Set([...known.slots, ...otherSlots])).sort()
  const places = new Map<number, number>()
  for (const [place, slot] of slots.entries()) places.set(slot, place)
  const weights = new Float32Array(slots.length * columns)
  for (const [from, slot] of known.slots.entries()) {
    const to = (places.get(slot) ?? 0) * columns
    for (let c = 0; c < count; c++) weights[to + (closed[c] ?? 0)] = known.weights[from * count + c] ?? 0
  }
  for (const [from, slot] of otherSlots.entries()) {
    weights[(places.get(slot) ?? 0) * columns + classes.length] = other[from + 1] ?? 0
  }
  const intercepts = new Float32Array(columns)
  const ofKnown = 1 - (shares[count] ?? 0)
  for (let c = 0; c < count; c++) {
    intercepts[closed[c] ?? 0] = (known.intercepts[c] ?? 0) + logRatio((shares[c] ?? 0) / ofKnown, baseShares[c] ?? 0)
  }
  intercepts[classes.length] = other[0] ?? 0
  const offsets = (number: number): Float32Array => {
    const all = new Float32Array(columns)
    const at = number * (count + 1)
    const pattern = PATTERNS.indexOf(contextNamed(contexts.names[number] ?? '').pattern)
    const ofOther = logRatio(mixes[at + count] ?? 0, shares[count] ?? 0) - (discounts[pattern] ?? 0)
    all.fill(ofOther)
    for (let c = 0; c < count; c++) all[closed[c] ?? 0] = logRatio(mixes[at + c] ?? 0, shares[c] ?? 0)
    return all
  }
  return {
    form: 2,
    slots,
    weights,
    intercepts,
    contextOffsets: new Map(contexts.names.map((name, number) => [name, offsets(number)])),
    temperature: 1,
    openClasses: classes.flatMap(({ isOpen }, c) => (isOpen ? [c] : [])),
    contextCounts: counts,
  }
}

/** Adds a row for each familiar identity. What belongs to no known class shares what is known of its identities. */
function withIdentities(
  parameters: ModelParameters,
  identities: ReadonlyMap<string, Float64Array>,
  others: Float64Array,
  closed: readonly number[],
): ModelParameters {
  const columns = parameters.intercepts.length
  const rows = new Map(
    [...parameters.slots].map((slot, i) => [slot, parameters.weights.subarray(i * columns, (i + 1) * columns)]),
  )
  for (const [number, [identityHash, logs]] of [...identities].entries()) {
    const row = new Float32Array(columns).fill(others[number] ?? 0)
    for (const [place, c] of closed.entries()) row[c] = logs[place] ?? 0
    rows.set(identitySlot(identityHash), row)
  }
  const slots = Uint32Array.from(rows.keys()).sort()
  const weights = new Float32Array(slots.length * columns)
  for (const [place, slot] of slots.entries()) weights.set(rows.get(slot) ?? [], place * columns)
  return { ...parameters, slots, weights }
}

/** In place: the open classes' columns. Slots that only audited events have get no weights. */
function addOpenClasses(
  parameters: ModelParameters,
  unlabelled: readonly Unlabelled[],
  classes: readonly CountedClass[],
  placeOf: ReadonlyMap<number, number>,
): void {
  const { openClasses, slots, weights, intercepts } = parameters
  const audited = unlabelled.filter(({ override }) => override !== undefined && !placeOf.has(override))
  const labels = audited.map(({ override }) => {
    const at = openClasses.indexOf(override ?? -1)
    return at < 0 ? openClasses.length : at
  })
  const learned = learnOpenClasses(
    audited.map(({ facts }) => facts),
    labels,
    openClasses.length,
  )
  if (learned === undefined) return
  const columns = classes.length + 1
  const places = new Map<number, number>()
  for (const [place, slot] of slots.entries()) places.set(slot, place)
  for (const [place, c] of openClasses.entries()) {
    intercepts[c] = learned.intercepts[place] ?? 0
    for (const [from, slot] of learned.slots.entries()) {
      const to = places.get(slot)
      if (to !== undefined) weights[to * columns + c] = learned.weights[from * openClasses.length + place] ?? 0
    }
  }
}

const patternsOf = (pattern: Uint8Array, unknown: Float64Array): CardPattern[] =>
  PATTERNS.map((name, number) => ({
    pattern: name,
    share: pattern.filter((one) => one === number).length / Math.max(1, pattern.length),
    unknownShare: unknown[number] ?? 0,
  })).filter(({ share }) => share > 0)

function spread(shares: Float64Array, classes: readonly CountedClass[], closed: readonly number[]): Float64Array {
  const all = new Float64Array(classes.length + 1)
  for (const [place, c] of closed.entries()) all[c] = shares[place] ?? 0
  const open = classes.flatMap((one, c) => (one.isOpen ? [c] : []))
  // What falls to none of the known classes divides as the overrides do.
  const overrides = open.reduce((sum, c) => sum + (classes[c]?.overrides ?? 0), 0)
  const other = shares[closed.length] ?? 0
  for (const c of open) all[c] = (other * (classes[c]?.overrides ?? 0)) / (overrides + 1)
  all[classes.length] = open.length === 0 ? other : other / (overrides + 1)
  return all
}
