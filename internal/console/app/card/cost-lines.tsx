import { countShown } from '../../figures/shown.js'
import { wordOf } from '../../figures/words.js'
import type { CostDetails, Explanation } from './record.js'

/** Exact, unrounded: the lines add up to the total in front of the reader. */
export function CostLines({ cost }: { readonly cost: Explanation['cost'] }) {
  const details: CostDetails = cost.details
  const parts = [
    ...cost.lines.map(({ part, tokens, rate_usd_per_million: rate, amount_usd: amount }) => ({
      what: `${countShown(tokens)} ${wordOf(part)} × ${rate}/M`,
      amount,
    })),
    ...cost.fees.map(({ tool, calls, usd_per_call: each, amount_usd: amount }) => ({
      what: `${countShown(calls)} ${wordOf(tool)} × ${each}`,
      amount,
    })),
    ...cost.units.map(({ unit, quantity, usd_per_unit: each, amount_usd: amount }) => ({
      what: `${quantity} ${wordOf(unit)} × ${each}`,
      amount,
    })),
  ]
  if (cost.basis === 'unpriced' && cost.price_usd === null) {
    return (
      <>
        not known: {wordOf(details.reason ?? 'unpriced')}
        <p class="muted">{cost.assumptions.join(' ')}</p>
        <Readings readings={cost.readings} />
      </>
    )
  }
  // Of a cost that was stated, invoiced or is notional, the lines add up to what the price would have been.
  const isPriced = cost.price_usd === null || cost.total_usd === cost.price_usd
  const sums = [
    ...(isPriced ? [] : [{ what: 'by the price', amount: cost.price_usd }]),
    { what: SUMS[cost.basis] ?? wordOf(cost.basis), amount: cost.total_usd },
  ]
  const decimals = Math.max(...[...parts, ...sums].map(({ amount }) => amount?.split('.')[1]?.length ?? 0))
  return (
    <>
      <table class="sum">
        <tbody>
          {parts.map(({ what, amount }) => (
            <tr key={what}>
              <td>{what}</td>
              <td class="number">{aligned(amount, decimals)}</td>
            </tr>
          ))}
          {sums.map(({ what, amount }) => (
            <tr key={what} class="total-line">
              <th scope="row">{what}</th>
              <td class="number">{aligned(amount ?? '0', decimals)}</td>
              <td>USD</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="muted">
        {details.book_as_of !== undefined && `book ${details.book_as_of}. `}
        {!isPriced && cost.stated_usd !== null && `The caller stated ${cost.stated_usd} USD. `}
        {cost.assumptions.join(' ')}
      </p>
      <Readings readings={cost.readings} />
    </>
  )
}

/** Of ambiguous usage. The first one counts until somebody chooses. */
function Readings({ readings }: Pick<Explanation['cost'], 'readings'>) {
  if (readings.length === 0) return null
  return (
    <>
      <p>
        The counts of the sender can be read in two ways. Not charged back until an administrator chooses a usage
        convention for the sender, at /api/v1/usage-conventions.
      </p>
      <table>
        <tbody>
          {readings.map(({ input_tokens: input, output_tokens: output, cost_usd: usd }) => (
            <tr key={`${input} ${output}`}>
              <td>{tokensShown(input)} input</td>
              <td>{tokensShown(output)} output</td>
              <td class="number">{usd === null ? 'no price' : `${usd} USD`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}

const tokensShown = (count: number | null): string => (count === null ? 'no' : countShown(count))

const SUMS: Readonly<Record<string, string>> = {
  notional: 'notional: nobody is billed',
  unpriced: 'what has a price',
}

/** Zeros at the end align the decimal points; no digit is left out. */
function aligned(amount: string, decimals: number): string {
  const [whole = '0', fraction = ''] = amount.split('.')
  return decimals === 0 ? whole : `${whole}.${fraction.padEnd(decimals, '0')}`
}
