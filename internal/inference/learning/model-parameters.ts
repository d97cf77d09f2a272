import type { Contexts, CountedClass, Unlabelled } from './examples.js'
import { type EventFacts, identitySlot } from './features.js'
import { indices, type KnownClasses } from './known-classes.js'
import { fitRegression, zeroModel } from './logistic-regression.js'
import { type Look, lookOf } from './look.js'
import { logRatio } from './mix-state.js'
import type { ModelParameters } from './model.js'
import type { ServedMix } from './served-mix.js'
import { compact } from './sparse-rows.js'
import { contextNamed, PATTERNS } from './views.js'

/** Converts the learned weights and mixes to the parameters that a version stores and predicts with. */
export function parametersOf(
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
    slots,
    weights,
    intercepts,
    contextOffsets: new Map(contexts.names.map((name, number) => [name, offsets(number)])),
    temperature: 1,
    openClasses: classes.flatMap(({ isOpen }, c) => (isOpen ? [c] : [])),
    contextCounts: counts,
  }
}

/** Adds a row of weights per familiar identity. All columns outside the known classes share one weight per identity. */
export function withIdentities(
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

/** In place: the open classes' columns. Slots that only audited events use get no weights. */
export function addOpenClasses(
  parameters: ModelParameters,
  unlabelled: readonly Unlabelled[],
  classes: readonly CountedClass[],
  placeOf: ReadonlyMap<number, number>,
  groups: Look,
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
    groups,
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

/**
 * Classes that only overrides have named. The few events that a person has reviewed determine how the traffic of no
 * known class divides among them; the amount of that traffic is estimated from all of it. So a class with few examples
 * never competes with the known classes for all traffic.
 */
export interface OpenClasses {
  readonly slots: Uint32Array
  /** Row-major: one row per slot, one column per open class. Logits against "none of the classes". */
  readonly weights: Float64Array
  readonly intercepts: Float64Array
}

/** High, because there are few examples: only clear differences count. */
const OPEN_PENALTY = 3
const OPEN_FIT = { penalty: OPEN_PENALTY, iterationsMax: 40, tolerance: 1e-5 } as const

/**
 * @param audited events that an override assigned to no known class
 * @param label the index of the open class, or `classes` for another one
 */
function learnOpenClasses(
  audited: readonly EventFacts[],
  label: readonly number[],
  classes: number,
  groups: Look,
): OpenClasses | undefined {
  if (classes === 0) return undefined
  const columns = classes + 1
  const { columns: slots, rows } = compact(lookOf(audited, groups))
  // One more event, without features, belongs to none of the classes: there may be classes that nobody has seen yet.
  const fitted = fitRegression(
    {
      rows: { ...rows, count: rows.count + 1, starts: Uint32Array.from([...rows.starts, rows.starts.at(-1) ?? 0]) },
      row: indices(audited.length + 1),
      label: Uint16Array.from([...label, classes]),
      weight: new Float64Array(audited.length + 1).fill(1),
    },
    zeroModel(columns, slots.length),
    OPEN_FIT,
  ).parameters
  const against = (row: number): number[] =>
    Array.from({ length: classes }, (_, c) => (fitted[row * columns + c] ?? 0) - (fitted[row * columns + classes] ?? 0))
  return {
    slots,
    weights: Float64Array.from([...slots.keys()].flatMap((place) => against(place + 1))),
    intercepts: Float64Array.from(against(0)),
  }
}
