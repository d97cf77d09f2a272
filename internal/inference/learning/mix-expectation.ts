import { logSumExp } from './logistic-regression.js'
import { logRatio, type MixState, type ServedInput } from './mix-state.js'

/** Class probabilities of each unlabelled event under the prior of its context. Overrides and disputes take precedence. */
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
