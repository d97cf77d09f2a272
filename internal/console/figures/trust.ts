import { divideHalfEven } from '../../units/half-even.js'
import { formatDifference, formatQuantity, parseSum, plus, type Quantity, zero } from '../../units/quantity.js'
import type { UsageRow } from './usage.js'

/** How far the money of a row can be trusted: four parts that add up to its cost. */
export interface Trust {
  readonly chargebackReady: string
  readonly provisional: string
  readonly estimated: string
  /** Of calls without a service or owner. */
  readonly nobody: string
}

export type TrustPart = keyof Trust
export const TRUST_PARTS: readonly TrustPart[] = ['chargebackReady', 'provisional', 'estimated', 'nobody']

type Usd = Quantity<'USD'>
type Trusted = Pick<UsageRow, 'cost_usd_by_band' | 'unattributed_cost_usd' | 'reasons'>

/**
 * The parts of a row. A report gives the cost at each band and the cost of unattributed calls, but not how these
 * overlap. Calls of the default pool are estimated by their rule; those of a known service without an owner are taken
 * from the highest band down.
 */
export function trustOf(row: Trusted): Trust {
  const left = {
    chargebackReady: usd(row.cost_usd_by_band.chargeback_ready),
    provisional: usd(row.cost_usd_by_band.provisional),
    estimated: usd(row.cost_usd_by_band.estimated),
  }
  const nobody = usd(row.unattributed_cost_usd)
  let rest: bigint = nobody
  const take = (band: keyof typeof left, most: bigint): void => {
    const taken = [rest, most, left[band]].reduce((least, each) => (each < least ? each : least))
    left[band] = (left[band] - taken) as Usd
    rest -= taken
  }
  take('estimated', usd(row.reasons['default_pool']?.cost_usd ?? '0'))
  for (const band of ['chargebackReady', 'provisional', 'estimated'] as const) take(band, rest)
  return {
    chargebackReady: formatQuantity(left.chargebackReady),
    provisional: formatQuantity(left.provisional),
    estimated: formatQuantity(left.estimated),
    // What no band holds: nothing, unless the answer contradicts itself.
    nobody: formatDifference(nobody, rest as Usd),
  }
}

const usd = (text: string): Usd => parseSum<'USD'>(text)

/** The parts of several rows together. */
export function trustOfAll(rows: readonly Trusted[]): Trust {
  const sums = {
    chargebackReady: zero<'USD'>(),
    provisional: zero<'USD'>(),
    estimated: zero<'USD'>(),
    nobody: zero<'USD'>(),
  }
  for (const row of rows) {
    const parts = trustOf(row)
    for (const part of TRUST_PARTS) sums[part] = plus(sums[part], usd(parts[part]))
  }
  return {
    chargebackReady: formatQuantity(sums.chargebackReady),
    provisional: formatQuantity(sums.provisional),
    estimated: formatQuantity(sums.estimated),
    nobody: formatQuantity(sums.nobody),
  }
}

/** A part of a whole as a fraction with six decimals, rounded half to even; undefined where the whole is nothing. */
export function fractionOf(part: string, whole: string): string | undefined {
  const all: bigint = parseSum(whole)
  return all <= 0n ? undefined : ratioText(parseSum(part), all, 6)
}

/** A change in percent of what was before, which is more than nothing; with four decimals, rounded half to even. */
export const percentOf = (change: string, before: string): string =>
  ratioText(parseSum<'USD'>(change) * 100n, parseSum(before), 4)

function ratioText(part: bigint, whole: bigint, decimals: number): string {
  const isNegative = part < 0n
  const steps = divideHalfEven((isNegative ? -part : part) * 10n ** BigInt(decimals), whole)
  const text = steps.toString().padStart(decimals + 1, '0')
  return `${isNegative ? '-' : ''}${text.slice(0, -decimals)}.${text.slice(-decimals)}`
}
