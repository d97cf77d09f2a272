import { Fragment } from 'preact'
import { SORT_FIELDS } from '../../../../filters/filter-fields.js'
import { countShown, decimalShown, decimalsOf } from '../../../figures/shown.js'
import { wordOf } from '../../../figures/words.js'
import { setParams } from '../../address/address.js'
import { Card } from '../../card/card.js'
import type { RecordRow } from '../../card/record.js'
import { Confidence } from '../../parts/confidence.js'
import { Instant } from '../../parts/instant.js'
import { Name } from '../../parts/name.js'
import { Scroll } from '../../parts/scroll.js'

interface RecordsProps {
  readonly rows: readonly RecordRow[]
  readonly zone: string
  readonly sort: string
  /** Whether the list of the API has it: the row of the open call stays when it has not. */
  readonly isListed: (id: string) => boolean
  readonly open: string | undefined
  /** The call whose card is in the table. */
  readonly inside: string | undefined
  readonly onOpen: (id: string | undefined) => void
  readonly onChanged: () => void
}

const COLUMNS = [
  { field: 'event_time', title: 'time' },
  { field: 'service', title: 'service' },
  { field: 'owner', title: 'owner' },
  { field: 'provider', title: 'provider' },
  { field: 'served_model', title: 'model' },
  { field: 'tokens', title: 'tokens in, out', isNumber: true },
  { field: 'cost_usd', title: 'cost USD', isNumber: true },
  { field: 'confidence', title: 'confidence' },
  { field: 'output_state', title: 'how' },
  { field: 'export_eligibility', title: 'charged back' },
] as const

/** The calls as a table; a row opens its evidence in place. */
export function Records({ rows, isListed, zone, sort, open, inside, onOpen, onChanged }: RecordsProps) {
  // Single calls cost less than sums: two decimals more.
  const decimals = decimalsOf(rows.map((row) => row.cost_usd)) + 2
  return (
    <Scroll label="Calls">
      <table class="figures">
        <thead>
          <tr>
            {COLUMNS.map((column) => (
              <Head key={column.field} {...column} sort={sort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Fragment key={row.id}>
              <Row
                row={row}
                zone={zone}
                decimals={decimals}
                isOpen={row.id === open}
                isListed={isListed(row.id)}
                onOpen={() => onOpen(row.id === open ? undefined : row.id)}
              />
              {row.id === inside && (
                <tr class="inside">
                  <td colSpan={COLUMNS.length}>
                    <Card id={row.id} zone={zone} onChanged={onChanged} />
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}

interface HeadProps {
  readonly field: string
  readonly title: string
  readonly isNumber?: boolean
  readonly sort: string
}

function Head({ field, title, isNumber = false, sort }: HeadProps) {
  const isSortable = SORT_FIELDS.some((each) => each === field)
  const isBy = sort.replace('-', '') === field
  const isDescending = sort.startsWith('-')
  const turn = (): void => setParams({ sort: isBy && isDescending ? field : `-${field}`, record: '' })
  const order = isBy ? (isDescending ? 'descending' : 'ascending') : 'none'
  return (
    <th scope="col" class={isNumber ? 'number' : undefined} aria-sort={isSortable ? order : undefined}>
      {isSortable ? (
        <button type="button" class="sorts" onClick={turn}>
          {title} <span aria-hidden="true">{isBy ? (isDescending ? '↓' : '↑') : ''}</span>
        </button>
      ) : (
        title
      )}
    </th>
  )
}

interface RowProps {
  readonly row: RecordRow
  readonly zone: string
  readonly decimals: number
  readonly isOpen: boolean
  readonly isListed: boolean
  readonly onOpen: () => void
}

function Row({ row, zone, decimals, isOpen, isListed, onOpen }: RowProps) {
  const { interpretation: how } = row
  return (
    <tr class={isListed ? undefined : 'apart'}>
      <td>
        <button type="button" class="opens" aria-expanded={isOpen} onClick={onOpen}>
          <Instant ms={Date.parse(row.event_time)} zone={zone} />
        </button>
        {!isListed && ' no longer in this list'}
      </td>
      <td>
        <Name>{row.service}</Name>
      </td>
      <td>
        <Name>{row.owner}</Name>
      </td>
      <td>
        <Name>{row.provider}</Name>
      </td>
      <td class="id">
        <Name>{row.served_model}</Name>
      </td>
      <td class="number">
        {row.input_tokens === null ? '?' : countShown(row.input_tokens)},{' '}
        {row.output_tokens === null ? '?' : countShown(row.output_tokens)}
      </td>
      <td class="number">
        {row.cost_bound === 'upper' && '≤ '}
        {row.cost_basis === 'unpriced' ? 'no price' : decimalShown(row.cost_usd, decimals)}
      </td>
      <td>
        {how.confidence.toFixed(2)} <Confidence call={how} />
      </td>
      <td>{wordOf(row.output_state)}</td>
      <td>{how.export_eligibility === 'eligible' ? 'yes' : `no: ${wordOf(how.export_eligibility)}`}</td>
    </tr>
  )
}
