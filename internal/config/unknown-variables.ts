import { SETTINGS } from './settings.js'

/** Variables of the tests and benchmarks, which run the roles in their own environment. */
const NOT_OURS = /^ATTRIBUTION_(RENEW|CONTRACT|EVAL|BENCH|TEST)_/

/** One line for each variable that looks like a setting and is none. It is no error: platforms add variables of their own. */
export function unknownVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = Object.values(SETTINGS).map(({ variable }) => variable)
  return Object.keys(env)
    .filter((name) => name.startsWith('ATTRIBUTION_') && !known.includes(name) && !NOT_OURS.test(name))
    .map((name) => {
      const nearest = nearestOf(name, known)
      const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`
      return `unknown variable ${name.replace(/[^ -~]/g, '?')} is ignored${hint}`
    })
}

/** A candidate that differs by a few letters at most. */
export function nearestOf(name: string, candidates: readonly string[]): string | undefined {
  const [best] = candidates
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    .toSorted((a, b) => a.distance - b.distance)
  return best !== undefined && best.distance <= 3 ? best.candidate : undefined
}

/** Levenshtein: insertions, deletions and substitutions of letters; a swap of two neighbours counts as two. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const substituted = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}
