import { logSumExp } from './logistic-regression.js'
import { logRatio, type MixState, type ServedInput, weightOf } from './mix-state.js'
import { grow } from './presence.js'

/**
 * Class probabilities of each unlabelled event under the prior of its context. Overrides and disputes take precedence.
 */
export function writeProbabilities(
  { classes, unlabelled, baseShares, presence, identities }: ServedInput,
  { shares, mixes, probabilities, discounts, identityOthers }: MixState,
  others: Float64Array,
): void {
  const columns = classes + 1
  const special = unlabelled.contexts.at(-1)
  const known = 1 - (shares[classes] ?? 0)
  const shift = Float64Array.from({ length: classes }, (_, c) => logRatio((shares[c] ?? 0) / known, baseShares[c] ?? 0))
  const logits = new Float64Array(classes)
  for (let i = 0; i < unlabelled.row.length; i++) {
    const p = probabilities.subarray(i * columns, (i + 1) * columns)
    p.fill(0)
    const named = unlabelled.known[i] ?? -1
    if (named >= 0) {
      p[named] = 1
      continue
    }
    const context = (special?.[i] ?? 0) * columns
    for (let c = 0; c < classes; c++) logits[c] = (unlabelled.logits[i * classes + c] ?? 0) + (shift[c] ?? 0)
    const normaliser = logSumExp(logits)
    const identity = unlabelled.identity[i] ?? -1
    const stated = identities[identity]
    let total = 0
    for (let c = 0; c < classes; c++) {
      if (c === unlabelled.excluded[i] || (unlabelled.atMs[i] ?? 0) < (presence.bornMs[c] ?? 0)) continue
      const ratio = logRatio(mixes[context + c] ?? 0, shares[c] ?? 0)
      const term = Math.exp((logits[c] ?? 0) - normaliser + ratio + (stated?.[c] ?? 0))
      p[c] = term
      total += term
    }
    const term = Math.exp(
      (others[unlabelled.row[i] ?? 0] ?? 0) +
        logRatio(mixes[context + classes] ?? 0, shares[classes] ?? 0) +
        (identityOthers[identity] ?? 0) -
        (discounts[unlabelled.pattern[i] ?? 0] ?? 0),
    )
    p[classes] = term
    total += term
    for (let c = 0; c < columns; c++) p[c] = (p[c] ?? 0) / total
  }
}

/** Shares and mixes of the classes, given the class probabilities of the unlabelled events. */
export function sharesOf(input: ServedInput, probabilities: Float32Array): Float64Array {
  const columns = input.classes + 1
  const sums = new Float64Array(columns)
  let total = 0
  for (let i = 0; i < input.unlabelled.row.length; i++) {
    const weight = weightOf(input, i)
    total += weight
    for (let c = 0; c < columns; c++) sums[c] = (sums[c] ?? 0) + weight * (probabilities[i * columns + c] ?? 0)
  }
  grow(sums, input.presence.growth)
  const known = sums.subarray(0, input.classes).reduce((sum, one) => sum + one, 0)
  return sums.map((sum, c) =>
    c === input.classes ? sum / total : (sum + ANCHOR * known * (input.presence.shares[c] ?? 0)) / (1 + ANCHOR) / total,
  )
}

/**
 * Weight of the labelled shares relative to the shares in the unlabelled traffic. It matters little where looks
 * distinguish services; where they do not, it prevents a class from growing only because it resembles unknown traffic.
 */
const ANCHOR = 0.05
/** Number of pseudo-events with which the mix of the parent context is added to the mix of a context. */
const CONTEXT_STRENGTH = 200

/** The mix of each context, smoothed towards the mix that its parent and the labelled events of the context suggest. */
export function mixesOf(input: ServedInput, { shares, probabilities }: MixState): Float64Array {
  const { classes, unlabelled, contexts } = input
  const columns = classes + 1
  const mixes = new Float64Array(contexts * columns)
  for (const [level, of] of unlabelled.contexts.entries()) {
    const above = unlabelled.contexts[level - 1]
    const sums = new Float64Array(contexts * columns)
    const parents = new Map<number, number | undefined>()
    for (let i = 0; i < of.length; i++) {
      const context = of[i] ?? 0
      parents.set(context, above?.[i])
      const weight = weightOf(input, i)
      for (let c = 0; c < columns; c++) {
        const at = context * columns + c
        sums[at] = (sums[at] ?? 0) + weight * (probabilities[i * columns + c] ?? 0)
      }
    }
    for (const [context, parent] of parents) {
      const prior = parent === undefined ? shares : mixes.subarray(parent * columns, (parent + 1) * columns)
      const expected = expectedMix(prior, input.likelier(context))
      const own = sums.subarray(context * columns, (context + 1) * columns)
      const count = own.reduce((sum, part) => sum + part, 0)
      grow(own, input.presence.growth)
      for (let c = 0; c < columns; c++) {
        mixes[context * columns + c] =
          ((own[c] ?? 0) + CONTEXT_STRENGTH * (expected[c] ?? 0)) / (count + CONTEXT_STRENGTH)
      }
    }
  }
  return mixes
}

function expectedMix(prior: Float64Array, likelier: Float64Array | undefined): Float64Array {
  if (likelier === undefined) return prior
  const mix = prior.map((share, c) => share * Math.exp(likelier[c] ?? 0))
  const total = mix.reduce((sum, one) => sum + one, 0)
  return total > 0 ? mix.map((one) => one / total) : prior
}

/** Number of pseudo-events by which events of no known class are assumed to state identities as all events do. */
const IDENTITY_STRENGTH = 20

export function identityOthersOf(
  { classes, unlabelled, identities }: ServedInput,
  { probabilities }: MixState,
): Float64Array {
  const columns = classes + 1
  const [others, counts] = [new Float64Array(identities.length), new Float64Array(identities.length)]
  let [ofOthers, all] = [0, 0]
  for (const [i, identity] of unlabelled.identity.entries()) {
    if (identity < 0) continue
    const other = probabilities[i * columns + classes] ?? 0
    others[identity] = (others[identity] ?? 0) + other
    counts[identity] = (counts[identity] ?? 0) + 1
    ofOthers += other
    all++
  }
  return others.map((other, identity) => {
    const count = counts[identity] ?? 0
    if (count === 0) return 0
    return Math.log(((other * all) / count + IDENTITY_STRENGTH) / (ofOthers + IDENTITY_STRENGTH))
  })
}
