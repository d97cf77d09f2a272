import { formatDifference, formatQuantity, parseSum, type Quantity, sum } from '../../units/quantity.js'
import { fractionOf } from './shares.js'
import type { UsageRow } from './usage.js'

/** How the cost of pools is spread over services: what an allocated report has more than the plain one. */

type Usd = Quantity<'USD'>
type Row = Pick<UsageRow, 'service' | 'folded' | 'cost_usd'>

export interface Spread {
  /** Of all calls that were allocated to pools. */
  readonly inPools: string
  /** Its parts: what was spread, and what stays with the pools. */
  readonly spread: string
  readonly notSpread: string
  /** What was spread, the largest part first. Their sum and `rest` are `spread`. */
  readonly lines: readonly { readonly service: string; readonly usd: string; readonly share: string }[]
  /** Of services that are not named, since too few people are behind them. */
  readonly rest: string
}

/**
 * @param inPools cost of the calls in pools
 * @param notSpread part of it that an allocated report leaves with the pools
 * @param plain a report by service
 * @param allocated the same, allocated
 */
export function spreadOf(inPools: string, notSpread: string, plain: readonly Row[], allocated: readonly Row[]): Spread {
  const before = new Map(plain.flatMap((row) => (isNamed(row) ? [[row.service, usd(row.cost_usd)] as const] : [])))
  const gains = allocated.flatMap((row) => {
    const was = isNamed(row) ? before.get(row.service) : undefined
    const gain = was === undefined ? 0n : usd(row.cost_usd) - was
    return gain > 0n && isNamed(row) ? [{ service: row.service, gain: gain as Usd }] : []
  })
  const spread = formatDifference(usd(inPools), usd(notSpread))
  return {
    inPools,
    spread,
    notSpread,
    lines: gains
      .sort((one, other) => (one.gain < other.gain ? 1 : -1))
      .map(({ service, gain }) => ({ service, usd: formatQuantity(gain) }))
      .map((line) => ({ ...line, share: fractionOf(line.usd, spread) ?? '0' })),
    rest: formatDifference(usd(spread), sum(gains.map(({ gain }) => gain))),
  }
}

const isNamed = (row: Row): row is Row & { readonly service: string } => !row.folded && typeof row.service === 'string'

const usd = (text: string): Usd => parseSum<'USD'>(text)
