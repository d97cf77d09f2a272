import { Contexts, type CountedClass, type Examples, type Labelled, seededShare, type Unlabelled } from './examples.js'
import { type EventFacts, featuresOf } from './features.js'
import {
  gainInErrorsOf,
  identityLogs,
  indices,
  type KnownClasses,
  knownLogits,
  type LabelledExamples,
  learnKnownClasses,
  lookTemperature,
  strictnessOf,
} from './known-classes.js'
import { comparableLook, type Look, lookOf } from './look.js'
import type { CardPattern, ModelParameters } from './model.js'
import { addOpenClasses, parametersOf, withIdentities } from './model-parameters.js'
import { presenceOf } from './presence.js'
import { estimateServedMix } from './served-mix.js'
import { compact, renumber } from './sparse-rows.js'
import { asServed, labelledExamples, sampled, sharesOf, type TrainingExample } from './training-examples.js'
import { asUnresolved, type DirectoryFacts, PATTERNS, patternOf } from './views.js'

/** Choices made on held-out events, and reused when the model is fitted again on all events. */
export interface Choices {
  readonly temperature: number
  readonly bounds: readonly number[]
}

export interface LearnOptions {
  readonly seed: number
  readonly directory: DirectoryFacts
  /** Later labelled events, on which to choose the temperature. */
  readonly later?: readonly Labelled[]
  /** The choices of an earlier fit, and its weights to start from. */
  readonly choices?: Choices
  readonly start?: KnownClasses
}

export interface Learned {
  readonly parameters: ModelParameters
  /** Share of each class of the card, and of the unknown class, in the unresolved traffic. */
  readonly shares: Float64Array
  readonly patterns: readonly CardPattern[]
  readonly known: KnownClasses
  readonly choices: Choices
  /**
   * The gain of later labels from their events' features, in standard errors; undefined when there are too few of them.
   */
  readonly labelGain: number | undefined
}

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
  const taught = labelledExamples([...labelled, ...audited])
  const later = options.later && labelledExamples(asServed(options.later, placeOf, directory))
  let temperature = options.choices?.temperature ?? 1
  const groups = comparableLook(
    examples.resolved.map(({ facts }) => facts),
    examples.unlabelled.map(({ facts }) => facts),
  )
  const known = learnKnownClasses(
    taught,
    closed.length,
    groups,
    (look) => {
      if (options.choices === undefined && later !== undefined && later.facts.length > 0) {
        temperature = lookTemperature(look, later, groups)
      }
      return temperature
    },
    options.start,
  )
  const identities = identityLogs(taught, closed.length)
  const contexts = new Contexts()
  const rare = examples.resolved.filter(({ label }) => !placeOf.has(label)).slice(-RARE_MAX)
  const prepared = prepare({ labelled, rare, unlabelled, groups }, known, placeOf, contexts, identities)
  const baseShares = sharesOf(taught, closed.length)
  const mix = estimateServedMix({
    ...prepared.input,
    baseShares,
    presence: presenceOf(taught, baseShares, prepared.input.unlabelled.atMs),
    seed,
    bounds: options.choices?.bounds,
  })
  const counts = new Map<string, number>()
  for (const number of prepared.input.unlabelled.contexts.at(-1) ?? []) {
    const name = contexts.names[number] ?? ''
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const bare = parametersOf(known, mix, prepared.slots, classes, closed, contexts, baseShares, counts)
  const parameters = withIdentities(bare, identities, mix.identityOthers, closed)
  addOpenClasses(parameters, unlabelled, classes, placeOf, groups)
  return {
    parameters,
    shares: spread(mix.served, classes, closed),
    patterns: patternsOf(prepared.input.unlabelled.pattern, mix.unknown),
    known,
    choices: { temperature, bounds: mix.bounds },
    labelGain:
      options.later === undefined || later === undefined
        ? undefined
        : closed.length < 2
          ? labelGainOfOne(examples, placeOf, options.later, directory)
          : gainInErrorsOf(known, identities, later, baseShares),
  }
}

/** An audit is a labelled event of the served traffic itself. */
const AUDITED_WEIGHT = 3

interface Prepared {
  readonly labelled: readonly TrainingExample[]
  readonly rare: readonly Labelled[]
  readonly unlabelled: readonly Unlabelled[]
  readonly groups: Look
}

function prepare(
  { labelled, rare, unlabelled, groups }: Prepared,
  known: KnownClasses,
  placeOf: ReadonlyMap<number, number>,
  contexts: Contexts,
  identities: ReadonlyMap<string, Float64Array>,
) {
  const classes = placeOf.size
  const facts = unlabelled.map((one) => one.facts)
  const seen = [...labelled, ...rare].map((one) => one.facts)
  const looked = [...seen, ...facts]
  // What no labelled event has shown is ignored: a new name of a model is not a new service.
  const { columns: slots } = compact(lookOf(seen, groups))
  const rows = renumber(lookOf(looked, groups), slots)
  const patterns = facts.map((one) => patternOf(one, (identityHash) => identities.has(identityHash)))
  const numbers = new Map([...identities.keys()].map((identity, number) => [identity, number]))
  const levels = contexts.of(facts, patterns)
  const first = labelled.length + rare.length
  const input = {
    classes,
    rows,
    strictness: strictnessOf(looked, slots),
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
      atMs: Float64Array.from(facts, ({ eventTimeMs }) => eventTimeMs),
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
  // The share of no known class divides among the open classes as their overrides do.
  const overrides = open.reduce((sum, c) => sum + (classes[c]?.overrides ?? 0), 0)
  const other = shares[closed.length] ?? 0
  for (const c of open) all[c] = (other * (classes[c]?.overrides ?? 0)) / (overrides + 1)
  all[classes.length] = open.length === 0 ? other : other / (overrides + 1)
  return all
}

const PRINCIPAL_STRENGTH = 5

/**
 * Per context with a credential: log of the ratio at which a class's calls use the credential, compared with all calls
 * of the layer, from labelled events. Which services use a credential does not depend on whether they state their
 * names.
 */
function likelierOf(
  labelled: readonly TrainingExample[],
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
    // A credential of unlabelled events alone, as a new one: it says nothing of a class.
    if (own === undefined) continue
    const all = counts.get(ingestionLayer)
    const logs = new Float64Array(classes + 1)
    for (let c = 0; c < classes; c++) {
      const share = ((own[c] ?? 0) + PRINCIPAL_STRENGTH * expected) / ((all?.[c] ?? 0) + PRINCIPAL_STRENGTH)
      logs[c] = Math.log(share / expected)
    }
    known.set(context, logs)
  }
  return (context) => known.get(context)
}

/** Minimum number of later events of other classes for a result. */
const LATER_OTHERS_MIN = 20

/**
 * The gain of later labels of the only class, in standard errors, against all others together, each of which has too
 * few events for a class.
 */
function labelGainOfOne(
  { resolved }: Examples,
  placeOf: ReadonlyMap<number, number>,
  later: readonly Labelled[],
  directory: DirectoryFacts,
): number | undefined {
  const bothOf = (events: readonly Labelled[]): LabelledExamples =>
    labelledExamples(
      events.map(({ facts, label }) => ({
        facts: asUnresolved(facts, directory),
        label: placeOf.has(label) ? 0 : 1,
        weight: 1,
      })),
    )
  if (later.filter(({ label }) => !placeOf.has(label)).length < LATER_OTHERS_MIN) return undefined
  const taught = bothOf(resolved)
  const groups = comparableLook(taught.facts, taught.facts)
  const known = learnKnownClasses(taught, 2, groups, () => 1)
  return gainInErrorsOf(known, identityLogs(taught, 2), bothOf(later), sharesOf(taught, 2))
}
