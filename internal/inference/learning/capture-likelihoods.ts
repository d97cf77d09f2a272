import type { EventFacts } from './features.js'
import type { Taught } from './taught-examples.js'

const PRINCIPAL_STRENGTH = 5

/**
 * Of each context with a credential: log of how much likelier a class's calls are to come with it than those of the layer,
 * from labelled events of the layer. Which services use a credential does not depend on whether they state their names.
 */
export function likelierOf(
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
