import { Fragment } from 'preact'
import { SORT_FIELDS } from '../../../../filters/filter-fields.js'
import { fieldShown } from '../../../figures/words.js'
import { Card } from '../../card/card.js'
import type { RecordRow } from '../../card/record.js'
import { ColumnHead } from '../../parts/columns.js'
import { Instant } from '../../parts/instant.js'
import { Scroll } from '../../parts/scroll.js'
import type { CallColumn } from './columns.js'

interface RecordsProps {
  readonly rows: readonly RecordRow[]
  readonly columns: readonly CallColumn[]
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

const UNSORTED = `Calls can be sorted by ${SORT_FIELDS.map(fieldShown).join(', ')}.`

/** The calls as a table; a row opens its evidence in place. */
export function Records({ rows, columns, isListed, zone, sort, open, inside, onOpen, onChanged }: RecordsProps) {
  return (
    <Scroll label="Calls">
      <table class="figures">
        <thead>
          <tr>
            <ColumnHead name="event_time" title="time" isSortable={true} sort={sort} />
            {columns.map(({ name, title, isNumber, isSortable }) => (
              <ColumnHead
                key={name}
                name={name}
                title={title}
                about={isSortable ? undefined : UNSORTED}
                isNumber={isNumber === true}
                isSortable={isSortable}
                sort={sort}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Fragment key={row.id}>
              <Row
                row={row}
                columns={columns}
                zone={zone}
                isOpen={row.id === open}
                isListed={isListed(row.id)}
                onOpen={() => onOpen(row.id === open ? undefined : row.id)}
              />
              {row.id === inside && (
                <tr class="inside">
                  <td colSpan={columns.length + 1}>
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

interface RowProps extends Pick<RecordsProps, 'columns' | 'zone'> {
  readonly row: RecordRow
  readonly isOpen: boolean
  readonly isListed: boolean
  readonly onOpen: () => void
}

const Row = ({ row, columns, zone, isOpen, isListed, onOpen }: RowProps) => (
  <tr class={isListed ? undefined : 'apart'}>
    <td>
      <button type="button" class="opens" aria-expanded={isOpen} onClick={onOpen}>
        <Instant ms={Date.parse(row.event_time)} zone={zone} />
      </button>
      {!isListed && ' no longer in this list'}
    </td>
    {columns.map(({ name, isNumber, isName, cell }) => (
      <td key={name} class={isNumber === true ? 'number' : isName && 'name'}>
        {cell(row)}
      </td>
    ))}
  </tr>
)
