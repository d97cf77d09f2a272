import type { AssumedFrom, CostFlag } from './cost-details.js'
import { isRatePart, type RateOrigin, type RatePart } from './rate-sheet.js'

type Named = readonly (readonly [name: string, origin: RateOrigin | undefined])[]

/** What a price has that its price list lacks, by origin. @param of all rates; fees, units and factors of the call */
export function assumedFrom(...of: readonly Named[]): readonly AssumedFrom[] {
  const byOrigin = new Map<string, AssumedFrom>()
  for (const [name, origin] of of.flat()) {
    if (origin === undefined) continue
    const id = `${origin.from} ${origin.by}`
    byOrigin.set(id, { ...origin, rates: [...(byOrigin.get(id)?.rates ?? []), name] })
  }
  return [...byOrigin.values()]
}

/** Of what is assumed that by which the call is billed. */
export const usedOf = (assumed: readonly AssumedFrom[], parts: ReadonlySet<RatePart>): readonly AssumedFrom[] =>
  assumed.flatMap((each) => {
    const rates = each.rates.filter((name) => !isRatePart(name) || parts.has(name))
    return rates.length === 0 ? [] : [{ ...each, rates }]
  })

export const flagsOfAssumed = (assumed: readonly AssumedFrom[]): readonly CostFlag[] => [
  ...new Set(assumed.map(({ from }) => FLAGS[from])),
]

const FLAGS = {
  provider_rule: 'rate_by_provider_rule',
  alias: 'rate_of_alias',
  snapshot: 'rate_of_snapshot',
} as const satisfies Record<RateOrigin['from'], CostFlag>
