import type { UnpricedRow } from 'attribution-service/sdk/api'
import type { Period } from '../../../figures/period.js'
import { countShown } from '../../../figures/shown.js'
import { useList } from '../../api/use-list.js'
import { ShowMore } from '../../parts/more.js'
import { Name } from '../../parts/name.js'
import { SmallGroups } from '../../parts/small-groups.js'
import { NotAllowed, Shown } from '../../parts/states.js'
import { Table } from '../../parts/table.js'
import { hasScope } from '../../session/session.js'
import type { Priced } from './add-price.js'

interface UnpricedProps {
  readonly period: Period
  readonly onPrice: (priced: Priced) => void
}

const HEAD = ['model', 'provider', '#calls', '#input tokens', '#output tokens', '']

/** Models whose calls have no cost: no total contains them. */
export function Unpriced({ period, onPrice }: UnpricedProps) {
  const isAllowed = hasScope('read:reporting')
  const { answer, rows, more } = useList<UnpricedRow>(isAllowed ? '/api/v1/prices/unpriced' : '', {
    from: new Date(period.fromMs).toISOString(),
    to: new Date(period.toMs).toISOString(),
  })
  if (!isAllowed) return <NotAllowed scope="read:reporting" title="Models without a price" />
  return (
    <section class="list" aria-label="Models without a price">
      <header>
        <h2>Models without a price</h2>
        <p class="muted">{period.label}: no total contains what these calls cost.</p>
      </header>
      <Shown answer={answer} what="the models without a price" placeholder={<div class="placeholder" />}>
        {() =>
          rows.length === 0 ? (
            <p>Every call of {period.label} has a cost.</p>
          ) : (
            <Table label="Calls without a cost by model" head={HEAD}>
              {rows.map((row) => (
                <Row key={`${row.provider} ${row.served_model} ${row.folded}`} row={row} onPrice={onPrice} />
              ))}
            </Table>
          )
        }
      </Shown>
      <ShowMore more={more} />
    </section>
  )
}

function Row({ row, onPrice }: { readonly row: UnpricedRow; readonly onPrice: UnpricedProps['onPrice'] }) {
  const { provider, served_model: model } = row
  const tokens = (count: number | null): string => (count === null ? 'not shown' : countShown(count))
  return (
    <tr class={row.folded ? 'folded' : undefined}>
      <th scope="row">{row.folded || model === null ? <SmallGroups groups={row.groups} /> : <Name>{model}</Name>}</th>
      <td>{provider !== null && <Name>{provider}</Name>}</td>
      <td class="number">{countShown(row.calls)}</td>
      <td class="number">{tokens(row.input_tokens)}</td>
      <td class="number">{tokens(row.output_tokens)}</td>
      <td>
        {provider !== null && model !== null && (
          <button type="button" class="quiet" onClick={() => onPrice({ provider, model })}>
            Give it a price
          </button>
        )}
      </td>
    </tr>
  )
}
