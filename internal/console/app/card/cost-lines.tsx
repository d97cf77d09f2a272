import { countShown } from '../../figures/shown.js'
import { wordOf } from '../../figures/words.js'
import type { Explanation } from './record.js'

/** Exact, unrounded: the lines add up to the total in front of the reader. */
export function CostLines({ cost }: { readonly cost: Explanation['cost'] }) {
  const parts = [
    ...cost.lines.map(({ part, tokens, rate_usd_per_million: rate, amount_usd: amount }) => ({
      what: `${countShown(tokens)} ${wordOf(part)} × ${rate}/M`,
      amount,
    })),
    ...cost.fees.map(({ tool, calls, usd_per_call: each, amount_usd: amount }) => ({
      what: `${countShown(calls)} ${wordOf(tool)} × ${each}`,
      amount,
    })),
  ]
  const isPriced = cost.total_usd === cost.price_usd
  return (
    <>
      <table class="sum">
        <tbody>
          {parts.map(({ what, amount }) => (
            <tr key={what}>
              <td>{what}</td>
              <td class="number">{amount}</td>
            </tr>
          ))}
          <tr class="total-line">
            <th scope="row">{wordOf(cost.basis)}</th>
            <td class="number">{cost.total_usd} USD</td>
          </tr>
        </tbody>
      </table>
      <p class="muted">
        {cost.details.book_as_of !== undefined && `book ${cost.details.book_as_of}. `}
        {!isPriced && cost.stated_usd !== null && `The caller stated ${cost.stated_usd} USD. `}
        {!isPriced && cost.price_usd !== null && `By the price it is ${cost.price_usd} USD. `}
        {cost.assumptions.join(' ')}
      </p>
    </>
  )
}
