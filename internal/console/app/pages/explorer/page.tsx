import { useEffect, useState } from 'preact/hooks'
import { FILTER_FIELDS } from '../../../../filters/filter-fields.js'
import { addressOf, linkTo } from '../../../figures/address.js'
import { filtersOf, unheldFilters, withFilters, within } from '../../../figures/filters.js'
import { decimalsOf } from '../../../figures/shown.js'
import { goTo, setParams } from '../../address/address.js'
import { shownPeriod } from '../../address/period.js'
import { type List, useList } from '../../api/use-list.js'
import { useNewest } from '../../api/use-newest.js'
import { useTags } from '../../api/use-tags.js'
import { BulkOverride } from '../../card/bulk-override.js'
import { Card } from '../../card/card.js'
import type { RecordRow } from '../../card/record.js'
import { useColumns } from '../../parts/columns.js'
import { Filters } from '../../parts/filters.js'
import { ShowMore } from '../../parts/more.js'
import { Shown } from '../../parts/states.js'
import { hasScope } from '../../session/session.js'
import type { PageProps } from '../page-props.js'
import { callColumns } from './columns.js'
import { DownloadCalls } from './download-calls.js'
import { usePlace } from './place.js'
import { Records } from './records.js'

const ROWS_A_PAGE = '50'

/** Every call of the period that the filters select, each with its evidence. */
export function Page({ params, zone }: PageProps) {
  const period = shownPeriod(params, zone)
  const filters = filtersOf(params)
  const sort = params.get('sort') ?? '-event_time'
  const open = params.get('record') ?? undefined
  const query = withFilters(new URLSearchParams({ limit: ROWS_A_PAGE, sort }), within(period, filters))
  const list = useList<RecordRow>('/v1/attribution', query)
  const { answer, rows, more } = list
  const live = useLive(list, open)
  const show = (id: string | undefined): void => setParams({ record: id ?? '' }, 'replace')
  // Single calls cost less than sums: two decimals more.
  const decimals = decimalsOf(rows.map((row) => row.cost_usd)) + 2
  const columns = useColumns('calls', callColumns(zone, decimals, useTags() ?? []))
  const placed = usePlace(open, query.toString(), rows, answer.isEarlier)

  return (
    <>
      <div class="controls">
        <Filters
          fields={FILTER_FIELDS}
          filters={filters}
          zone={zone}
          unheld={unheldFilters(params)}
          onChange={(next) => goTo(addressOf('explorer', withFilters(params, next)))}
        />
        {columns.choice}
        <DownloadCalls query={query} columns={columns.shown} period={period} filters={filters} params={params} />
      </div>
      {placed.above !== undefined && <Card id={placed.above} zone={zone} onChanged={answer.reload} />}
      {filters.length > 0 && hasScope('admin:config') && (
        <details class="behind">
          <summary>Give all of these calls to one service</summary>
          <BulkOverride period={period} filters={filters} onMoving={(isOver) => isOver && answer.reload()} />
        </details>
      )}
      {live.hasNewer && (
        <p class="notice" role="status">
          Newer calls have come, and may belong here.{' '}
          <button type="button" onClick={live.show}>
            Show them
          </button>
        </p>
      )}
      <Shown answer={answer} what="the calls" placeholder={<div class="placeholder table-place" />}>
        {() =>
          placed.rows.length === 0 ? (
            <p class="state muted">
              No calls in {period.label}
              {filters.length > 0 && ' with these filters'}.
              {live.hasNone && (
                <>
                  {' '}
                  <a href={linkTo('sources', params)}>Connect a source</a> that sends them.
                </>
              )}
            </p>
          ) : (
            <>
              <Records
                rows={placed.rows}
                columns={columns.shown}
                isListed={(id) => rows.some((row) => row.id === id)}
                zone={zone}
                sort={sort}
                open={open}
                inside={placed.inside}
                onOpen={show}
                onChanged={answer.reload}
              />
              <ShowMore more={more} />
            </>
          )
        }
      </Shown>
    </>
  )
}

/**
 * Reads the list again when newer calls have come, as long as the person reads its first page alone: else they are
 * asked, since rows would move under their eyes.
 *
 * @param open the call whose evidence is being read
 * @returns whether there are calls that came after the list, and whether there is none at all; reads them
 */
function useLive(
  list: List<RecordRow>,
  open: string | undefined,
): { readonly hasNewer: boolean; readonly hasNone: boolean; readonly show: () => void } {
  const { id } = useNewest()
  const { answer, rows, more } = list
  // The newest call for which the list was read.
  const [known, setKnown] = useState<string | undefined>()
  const isNew =
    typeof id === 'string' &&
    id !== known &&
    id !== open &&
    answer.value !== undefined &&
    rows.every((row) => row.id !== id)
  const isAtFirstPage = rows.length === answer.value?.data.length
  const show = (): void => {
    setKnown(id ?? undefined)
    answer.reload()
  }
  const isDue = isNew && !answer.isLoading && !more.isLoading && isAtFirstPage && open === undefined
  useEffect(() => {
    if (isDue) show()
  }, [isDue])
  return { hasNewer: isNew && !isDue && !answer.isLoading, hasNone: id === null, show }
}
