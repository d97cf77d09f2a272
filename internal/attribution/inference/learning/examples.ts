import { contextsOf, type EventFacts } from './features.js'
import type { ClassLabel } from './model.js'
import type { TrainingRecord } from './train.js'

/** The training window of a tenant, split by time into training and validation data. */
export interface Split {
  readonly training: Examples
  readonly validation: Examples
  readonly classes: readonly CountedClass[]
  readonly fromMs: number
  readonly toMs: number
  readonly validationFromMs: number
}

export interface CountedClass extends ClassLabel {
  readonly resolved: number
  readonly overrides: number
}

export interface Examples {
  readonly resolved: readonly Labelled[]
  /** All events that reached stage B, with or without an override or dispute. */
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
const RESOLVED_MIN = 20
/** Overrides come from exactly the traffic that the model serves, so fewer of them are enough. */
const OVERRIDES_MIN = 8
/** Training time and memory grow with the number of classes. The model treats rarer classes as unknown. */
export const CLASSES_MAX = 128

const keyOf = ({ service, owner }: ClassLabel): string => JSON.stringify([service, owner])

/** @param records in any order */
export function splitByTime(records: readonly TrainingRecord[]): Split {
  const times = Float64Array.from(records, ({ facts }) => facts.eventTimeMs).sort()
  const validationFromMs = times[Math.floor(TRAINING_SHARE * times.length)] ?? 0
  const isTraining = ({ facts }: TrainingRecord): boolean => facts.eventTimeMs < validationFromMs
  const training = records.filter(isTraining)
  const classes = classesOf(training)
  const numbers = new Map(classes.map((label, number) => [keyOf(label), number]))
  return {
    training: examplesOf(training, numbers),
    validation: examplesOf(
      records.filter((record) => !isTraining(record)),
      numbers,
    ),
    classes,
    fromMs: times[0] ?? 0,
    toMs: times.at(-1) ?? 0,
    validationFromMs,
  }
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
    .map(([, { resolved, overrides, label }]) => ({ service: label.service, owner: label.owner, resolved, overrides }))
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

  /** Per event: the number of its layer, and the number of its layer and principal. */
  of(events: readonly { readonly facts: EventFacts }[]): [layers: Int32Array, principals: Int32Array] {
    const each = events.map(({ facts }) => contextsOf(facts))
    return [
      Int32Array.from(each, ([layer]) => this.numberOf(layer)),
      Int32Array.from(each, ([, principal]) => this.numberOf(principal)),
    ]
  }
}

/** A pseudorandom number in [0, 1), determined by seed and index (the finaliser of MurmurHash3). */
export function seededShare(seed: number, index: number): number {
  let hash = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(index + 1, 0x27d4eb2f)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}
