/** The usage that the read model would return for some calls, by UTC day, week and month, without an engine. */
import type { UsageReads } from '../../internal/reports/report.js'
import type { SpreadWeights } from '../../internal/store/queries/attribution/allocation-weights.js'
import { type Interval, USAGE_COUNTS, type UsageSums } from '../../internal/store/queries/reports/usage.js'
import { formatQuantity, type Quantity, sum, type Unit } from '../../internal/units/quantity.js'

/** A call: its person (0: none), service, provider and time. */
export interface ReportedCall {
  readonly person: number
  readonly owner?: string
  readonly service: string
  readonly provider: string
  readonly atMs: number
  readonly isPooled?: boolean
  readonly costSteps?: bigint
  readonly isUnpriced?: boolean
}

/** Sums, and the calls behind them. */
export interface ReportedSums extends UsageSums {
  readonly members: readonly number[]
}

export const DAY_MS = 24 * 3_600_000

function bucketOf(atMs: number, interval: Interval) {
  const day = new Date(Math.floor(atMs / DAY_MS) * DAY_MS)
  const [year, month, date] = [day.getUTCFullYear(), day.getUTCMonth(), day.getUTCDate()]
  if (interval === 'month') return { fromMs: Date.UTC(year, month), toMs: Date.UTC(year, month + 1) }
  const days = interval === 'week' ? 7 : 1
  const fromMs = Date.UTC(year, month, interval === 'week' ? date - ((day.getUTCDay() + 6) % 7) : date)
  return { fromMs, toMs: fromMs + days * DAY_MS }
}

export function reportReads(calls: readonly ReportedCall[], weights?: SpreadWeights): UsageReads {
  return {
    sums: async ({ fromMs, toMs }, interval) => {
      const groups = new Map<string, { readonly at: number; readonly labels: string[]; readonly members: number[] }>()
      for (const [i, { owner = '', service, provider, atMs, isPooled = false }] of calls.entries()) {
        if (atMs < fromMs || atMs >= toMs) continue
        const at = interval === undefined ? 0 : bucketOf(atMs, interval).fromMs
        const labels = [owner, service, provider, '', '', '']
        const key = JSON.stringify([at, labels, isPooled])
        const group = groups.get(key) ?? { at, labels, members: [] }
        groups.set(key, group)
        group.members.push(i)
      }
      return [...groups.values()].map(({ at, labels, members }): ReportedSums => {
        const own = members.flatMap((i) => calls[i] ?? [])
        const unpriced = own.filter(({ isUnpriced }) => isUnpriced).length
        return {
          bucket: interval && bucketOf(at, interval),
          labels,
          members,
          people: [...new Set(own.flatMap(({ person }) => person || []))].sort((a, b) => a - b),
          isPooled: own[0]?.isPooled ?? false,
          counts: {
            ...(Object.fromEntries(USAGE_COUNTS.map((name) => [name, 0])) as UsageSums['counts']),
            calls: own.length,
            unpriced_calls: unpriced,
          },
          amounts: {
            cost_usd: formatQuantity(sum(own.map(({ costSteps = 0n }) => costSteps as Quantity<Unit>))),
            energy_wh: String(own.length),
            carbon_gco2e: '0',
          },
        }
      })
    },
    notPeople: () => [],
    weights: async () => weights,
  }
}
