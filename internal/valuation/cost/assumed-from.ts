import type { AssumedFrom, CostFlag } from './cost-details.js'
import type { RateOrigin } from './rate-sheet.js'

type Used = readonly (readonly [name: string, origin: RateOrigin | undefined])[]

/** What a call is billed by that its price list lacks, by origin. @param used rates, fees, units and factors of the call */
export function assumedFrom(...used: readonly Used[]): readonly AssumedFrom[] {
  const byOrigin = new Map<string, AssumedFrom>()
  for (const [name, origin] of used.flat()) {
    if (origin === undefined) continue
    const id = `${origin.from} ${origin.by}`
    byOrigin.set(id, { ...origin, rates: [...(byOrigin.get(id)?.rates ?? []), name] })
  }
  return [...byOrigin.values()]
}

export const flagsOfAssumed = (assumed: readonly AssumedFrom[]): readonly CostFlag[] => [
  ...new Set(assumed.map(({ from }) => FLAGS[from])),
]

const FLAGS = {
  provider_rule: 'rate_by_provider_rule',
  alias: 'rate_of_alias',
  snapshot: 'rate_of_snapshot',
} as const satisfies Record<RateOrigin['from'], CostFlag>
