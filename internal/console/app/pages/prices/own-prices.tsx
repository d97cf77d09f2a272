import type { Price } from 'attribution-service/sdk/api'
import { useState } from 'preact/hooks'
import { otherRates } from '../../../figures/prices.js'
import { priceShown } from '../../../figures/shown.js'
import type { List } from '../../api/use-list.js'
import { change } from '../../parts/change.js'
import { Does } from '../../parts/does.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { Instant } from '../../parts/instant.js'
import { ShowMore } from '../../parts/more.js'
import { Name } from '../../parts/name.js'
import { Shown } from '../../parts/states.js'
import { Table } from '../../parts/table.js'

export type { Price }

interface OwnPricesProps {
  readonly prices: List<Price>
  readonly zone: string
  readonly onAdd: () => void
}

const HEAD = ['model', 'provider', 'from', 'until', '#input USD/M', '#output USD/M', 'other rates', '']

/** Negotiated prices: they precede the book. */
export function OwnPrices({ prices: { answer, rows, more }, zone, onAdd }: OwnPricesProps) {
  const [removing, setRemoving] = useState<Price | undefined>()
  const remove = async (): Promise<void> => {
    await change('DELETE', `/api/v1/prices/${removing?.id}`)
    answer.reload()
  }
  return (
    <section class="list" aria-label="Own prices">
      <header>
        <h2>Prices of your own</h2>
        <p class="muted">They precede the price book.</p>
        <Does name="price" onDo={onAdd}>
          Add a price
        </Does>
      </header>
      <Shown answer={answer} what="your prices" placeholder={<div class="placeholder" />}>
        {() =>
          rows.length === 0 ? (
            <p>None yet: every call has the price of the book, if it states none itself.</p>
          ) : (
            <Table label="Rates of own prices" head={HEAD}>
              {rows.map((price) => (
                <Row key={price.id} price={price} zone={zone} onRemove={() => setRemoving(price)} />
              ))}
            </Table>
          )
        }
      </Shown>
      <ShowMore more={more} />
      {removing !== undefined && (
        <FormDialog
          title={`Remove the price of ${removing.model}`}
          verb="Remove the price"
          onClose={() => setRemoving(undefined)}
          send={remove}
        >
          <p>Calls that have it keep their cost. Calls that arrive from now on get the next price that applies.</p>
        </FormDialog>
      )}
    </section>
  )
}

interface RowProps {
  readonly price: Price
  readonly zone: string
  readonly onRemove: () => void
}

function Row({ price, zone, onRemove }: RowProps) {
  const { usd_per_million: rates, usd_per_call: fees, usd_per_unit: units } = price
  const others = [
    ...otherRates({ ...rates }),
    ...Object.entries(fees ?? {}).flatMap(([tool, fee]) =>
      fee === null ? [] : [`${tool.replaceAll('_', ' ')} ${priceShown(fee)} a call`],
    ),
    ...Object.entries(units ?? {}).flatMap(([unit, each]) =>
      each == null ? [] : [`${unit.replaceAll('_', ' ')} ${priceShown(each)} each`],
    ),
  ]
  return (
    <tr>
      <th scope="row">
        <Name>{price.model}</Name>
        {price.region !== null && <span class="muted"> in {price.region}</span>}
      </th>
      <td>
        <Name>{price.provider}</Name>
      </td>
      <td>
        <Instant ms={Date.parse(price.valid_from)} zone={zone} />
      </td>
      <td>{price.valid_to === null ? 'further notice' : <Instant ms={Date.parse(price.valid_to)} zone={zone} />}</td>
      <td class="number">{priceShown(rates.input_tokens)}</td>
      <td class="number">{priceShown(rates.output_tokens)}</td>
      <td class="wide">{others.join('; ')}</td>
      <td>
        <button type="button" class="quiet" onClick={onRemove}>
          Remove
        </button>
      </td>
    </tr>
  )
}
