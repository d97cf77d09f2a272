import { type MixState, type ServedInput, weightOf } from './mix-state.js'
import { grow } from './presence.js'

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
 * Weight of the labelled shares relative to those that the unlabelled traffic shows. Where looks tell services apart it matters
 * little; where they do not, it keeps a class from growing only because it resembles what is unknown.
 */
const ANCHOR = 0.05
/** Number of pseudo-events with which the mix of the parent context is added to the mix of a context. */
const CONTEXT_STRENGTH = 200

/** The mix of each context, smoothed towards what its parent's mix and the labelled events of the context make likely. */
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

/** Number of pseudo-events by which events of no known class are taken to have the identities of all. */
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
