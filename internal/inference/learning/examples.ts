import type { EventFacts } from './features.js'
import type { ClassLabel } from './model.js'
import { contextsOf, type Pattern } from './views.js'

/** An event of the training window of a tenant, with its attribution outcome. */
export interface TrainingRecord {
  readonly facts: EventFacts
  readonly outcome: Outcome
}

export type Outcome =
  /** The facts stage attributed it. */
  | { readonly kind: 'resolved'; readonly label: ClassLabel }
  /** It reached the inference stage and has no override or dispute. */
  | { readonly kind: 'unresolved' }
  /** It reached the inference stage, and an override assigns it to this label. */
  | { readonly kind: 'override'; readonly label: ClassLabel }
  /** It reached the inference stage, and a dispute rules out this label. */
  | { readonly kind: 'dispute'; readonly against: ClassLabel }

/** The training window of a tenant, split by time into training and validation data. */
export interface Split {
  readonly training: Examples
  readonly validation: Examples
  /** Both. */
  readonly all: Examples
  readonly classes: readonly CountedClass[]
  readonly fromMs: number
  readonly toMs: number
  readonly validationFromMs: number
}

export interface CountedClass extends ClassLabel {
  readonly resolved: number
  readonly overrides: number
  /** Whether it has too few resolved events, and is known from overrides. */
  readonly isOpen: boolean
}

export interface Examples {
  readonly resolved: readonly Labelled[]
  /** All events that reached the inference stage, with or without an override or dispute. */
  readonly unlabelled: readonly Unlabelled[]
}

export interface Labelled {
  readonly facts: EventFacts
  /** Index of the class; -1: not a class of the model. */
  readonly label: number
}

export interface Unlabelled {
  readonly facts: EventFacts
  /** Class assigned by an override; -1: not a class of the model; undefined: no override. */
  readonly override: number | undefined
  /** Class that a dispute rules out. */
  readonly dispute: number | undefined
}

/** Share of the records, from the start of the window, used for training. The rest is used for validation. */
const TRAINING_SHARE = 0.85
/** Minimum of resolved events per class: fewer do not describe a class. */
export const RESOLVED_MIN = 20
/** Overrides come from the traffic that the model serves, so fewer of them are enough. */
const OVERRIDES_MIN = 8
/** Training time and memory grow with the number of classes. The model treats rarer classes as unknown. */
export const CLASSES_MAX = 200

const keyOf = ({ service, owner }: ClassLabel): string => JSON.stringify([service, owner])

/**
 * Splits by time. Classes come from the whole window: a service that is new in the last part is a class, and the oldest
 * of its events are training data, although all of them are recent.
 *
 * @param records in any order
 */
export function splitByTime(records: readonly TrainingRecord[]): Split {
  const times = Float64Array.from(records, ({ facts }) => facts.eventTimeMs).sort()
  const validationFromMs = times[Math.floor(TRAINING_SHARE * times.length)] ?? 0
  const classes = classesOf(records)
  const numbers = new Map(classes.map((label, number) => [keyOf(label), number]))
  const young = youngClasses(records, numbers, validationFromMs)
  const isTraining = ({ facts, outcome }: TrainingRecord): boolean => {
    const fromMs = outcome.kind === 'resolved' ? young.get(keyOf(outcome.label)) : undefined
    return facts.eventTimeMs < (fromMs ?? validationFromMs)
  }
  return {
    training: examplesOf(records.filter(isTraining), numbers),
    validation: examplesOf(
      records.filter((record) => !isTraining(record)),
      numbers,
    ),
    all: examplesOf(records, numbers),
    classes,
    fromMs: times[0] ?? 0,
    toMs: times.at(-1) ?? 0,
    validationFromMs,
  }
}

/** For classes with too few resolved events before the split: their own split, by key. */
function youngClasses(
  records: readonly TrainingRecord[],
  numbers: ReadonlyMap<string, number>,
  validationFromMs: number,
): ReadonlyMap<string, number> {
  const times = new Map<string, number[]>()
  for (const { facts, outcome } of records) {
    if (outcome.kind !== 'resolved') continue
    const key = keyOf(outcome.label)
    if (!numbers.has(key)) continue
    const own = times.get(key)
    if (own === undefined) times.set(key, [facts.eventTimeMs])
    else own.push(facts.eventTimeMs)
  }
  const young = new Map<string, number>()
  for (const [key, own] of times) {
    if (own.length < RESOLVED_MIN || own.filter((at) => at < validationFromMs).length >= RESOLVED_MIN) continue
    young.set(key, own.sort((one, other) => one - other)[Math.floor(TRAINING_SHARE * own.length)] ?? 0)
  }
  return young
}

function classesOf(records: readonly TrainingRecord[]): CountedClass[] {
  const counted = new Map<string, { resolved: number; overrides: number; label: ClassLabel }>()
  for (const { outcome } of records) {
    if (outcome.kind !== 'resolved' && outcome.kind !== 'override') continue
    const key = keyOf(outcome.label)
    const entry = counted.get(key) ?? { resolved: 0, overrides: 0, label: outcome.label }
    counted.set(key, entry)
    if (outcome.kind === 'resolved') entry.resolved++
    else entry.overrides++
  }
  return [...counted.entries()]
    .filter(([, { resolved, overrides }]) => resolved >= RESOLVED_MIN || overrides >= OVERRIDES_MIN)
    .sort(([oneKey, one], [otherKey, other]) => rankOf(other) - rankOf(one) || (oneKey < otherKey ? -1 : 1))
    .slice(0, CLASSES_MAX)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, { resolved, overrides, label }]) => ({
      service: label.service,
      owner: label.owner,
      resolved,
      overrides,
      isOpen: resolved < RESOLVED_MIN,
    }))
}

const rankOf = ({ resolved, overrides }: { readonly resolved: number; readonly overrides: number }): number =>
  resolved / RESOLVED_MIN + overrides / OVERRIDES_MIN

function examplesOf(records: readonly TrainingRecord[], numbers: ReadonlyMap<string, number>): Examples {
  const numberOf = (label: ClassLabel): number => numbers.get(keyOf(label)) ?? -1
  const resolved: Labelled[] = []
  const unlabelled: Unlabelled[] = []
  for (const { facts, outcome } of records) {
    switch (outcome.kind) {
      case 'resolved':
        resolved.push({ facts, label: numberOf(outcome.label) })
        break
      case 'override':
        unlabelled.push({ facts, override: numberOf(outcome.label), dispute: undefined })
        break
      case 'dispute':
        unlabelled.push({ facts, override: undefined, dispute: numberOf(outcome.against) })
        break
      case 'unresolved':
        unlabelled.push({ facts, override: undefined, dispute: undefined })
    }
  }
  return { resolved, unlabelled }
}

/** Numbers capture contexts; those of each level follow those of the level above. */
export class Contexts {
  readonly #numbers = new Map<string, number>()

  numberOf(name: string): number {
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    this.#numbers.set(name, this.#numbers.size)
    return this.#numbers.size - 1
  }

  get names(): readonly string[] {
    return [...this.#numbers.keys()]
  }

  /** Per level, from general to specific, and event: the number of its context. */
  of(events: readonly EventFacts[], patterns: readonly Pattern[]): Int32Array[] {
    const each = events.map((facts, i) => contextsOf(facts, patterns[i] ?? 'anonymous'))
    return [0, 1, 2].map((level) => Int32Array.from(each, (names) => this.numberOf(names[level] ?? '')))
  }
}

/** A pseudorandom number in [0, 1), determined by seed and index (the finaliser of MurmurHash3). */
export function seededShare(seed: number, index: number): number {
  let hash = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(index + 1, 0x27d4eb2f)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}

/** Services whose calls have changed: older records no longer describe them. */
export interface Forgotten {
  readonly classes: readonly ClassLabel[]
  /** Event time, milliseconds since the epoch. */
  readonly beforeMs: number
}

/**
 * With at least this many newer unresolved records, the older ones are left out too: they show the earlier mix and
 * looks.
 */
const NEWER_UNRESOLVED_MIN = 200

/** The records that still describe the traffic. */
export function forgetting(
  records: readonly TrainingRecord[],
  forgotten: readonly Forgotten[],
): readonly TrainingRecord[] {
  return forgotten.reduce<readonly TrainingRecord[]>((remaining, { classes, beforeMs }) => {
    const isNewer = ({ facts }: TrainingRecord): boolean => facts.eventTimeMs >= beforeMs
    const newer = remaining.filter((record) => record.outcome.kind === 'unresolved' && isNewer(record)).length
    return remaining.filter((record) => {
      if (isNewer(record)) return true
      const { outcome } = record
      if (outcome.kind === 'unresolved' || outcome.kind === 'dispute') return newer < NEWER_UNRESOLVED_MIN
      return !classes.some(({ service, owner }) => service === outcome.label.service && owner === outcome.label.owner)
    })
  }, records)
}
