/** The cohort rule as its text says it, over sets: the oracle of `internal/cohorts/folded.ts`. */

export interface OracleGroup {
  readonly labels: readonly string[]
  readonly people: readonly number[]
  readonly cost: number
}

export interface OracleRow {
  /** The labels that are left. */
  readonly labels: readonly string[]
  readonly groups: readonly OracleGroup[]
}

export const peopleOf = (groups: readonly OracleGroup[]): number => new Set(groups.flatMap(({ people }) => people)).size
export const costOf = (groups: readonly OracleGroup[]): number => groups.reduce((sum, { cost }) => sum + cost, 0)

const isBelow = (labels: readonly string[], ancestor: readonly string[]): boolean =>
  ancestor.every((label, i) => labels[i] === label)

/** @param groups of one root, with as many labels each */
export function foldedByRule(groups: readonly OracleGroup[], k: number): OracleRow[] {
  const depth = groups[0]?.labels.length ?? 0
  if (depth === 0) return groups.map((group) => ({ labels: [], groups: [group] }))
  const isSmall = (of: readonly OracleGroup[]): boolean => peopleOf(of) > 0 && peopleOf(of) < k
  const folding = new Map<string, { ancestor: readonly string[]; groups: OracleGroup[] }>()
  let rows: OracleRow[] = []
  for (const group of groups) {
    if (!isSmall([group])) {
      rows.push({ labels: group.labels, groups: [group] })
      continue
    }
    let level = depth - 1
    const below = () => groups.filter(({ labels }) => isBelow(labels, group.labels.slice(0, level)))
    while (level > 0 && peopleOf(below()) < k) level--
    const ancestor = group.labels.slice(0, level)
    const key = JSON.stringify(ancestor)
    folding.set(key, { ancestor, groups: [...(folding.get(key)?.groups ?? []), group] })
  }
  for (const { ancestor, groups: own } of [...folding.values()].sort((a, b) => b.ancestor.length - a.ancestor.length)) {
    const joining = isSmall(own)
      ? rows
          .filter(
            ({ labels, groups: of }) =>
              labels.length > ancestor.length && isBelow(labels, ancestor) && peopleOf(of) >= k,
          )
          .sort(byRank(depth))[0]
      : undefined
    rows = rows.filter((row) => row !== joining)
    rows.push({ labels: ancestor, groups: [...own, ...(joining?.groups ?? [])] })
  }
  return rows
}

const byRank =
  (depth: number) =>
  (one: OracleRow, other: OracleRow): number => {
    const [a, b] = [one, other].map(({ labels, groups }) => [
      costOf(groups),
      peopleOf(groups),
      ...Array.from({ length: depth }, (_, i) => labels[i] ?? ''),
      labels.length,
    ]) as [(number | string)[], (number | string)[]]
    const i = a.findIndex((value, at) => value !== b[at])
    return i < 0 ? 0 : (a[i] as number) < (b[i] as number) ? -1 : 1
  }
