import { useEffect, useRef } from 'preact/hooks'
import { DIMENSIONS as REPORT_FIELDS } from '../../../../filters/report-dimensions.js'
import { addressOf } from '../../../figures/address.js'
import { comparisonParams } from '../../../figures/comparison.js'
import { filtersOf, unheldFilters, withFilters } from '../../../figures/filters.js'
import { DEFAULT_PERIOD, periodOf } from '../../../figures/period.js'
import { formOf } from '../../../figures/plot.js'
import { MEASURES, type Measure } from '../../../figures/usage.js'
import { fieldShown } from '../../../figures/words.js'
import { goTo, setParams } from '../../address/address.js'
import { type Answer, useAnswer } from '../../api/use-answer.js'
import { useNewest } from '../../api/use-newest.js'
import { useTags } from '../../api/use-tags.js'
import { FormSwitch } from '../../chart/form-switch.js'
import { Filters } from '../../parts/filters.js'
import { Name } from '../../parts/name.js'
import { onDemand } from '../../parts/on-demand.js'
import { Shown } from '../../parts/states.js'
import type { PageProps } from '../page-props.js'
import { Breakdown } from './breakdown.js'
import { DIMENSIONS, splitOf } from './dimensions.js'
import { FirstRun } from './first-run.js'
import { loadOverview, type OverviewFigures } from './load.js'
import { OverTime } from './over-time.js'
import { Totals } from './totals.js'

const MEASURE_NAMES: Readonly<Record<Measure, string>> = {
  cost_usd: 'cost',
  energy_wh: 'energy',
  carbon_gco2e: 'carbon',
  calls: 'calls',
}
const isMeasure = (text: string | null): text is Measure => MEASURES.some((measure) => measure === text)

/** Cost, energy, carbon and calls of a period: in total, over time, and by whom. */
export function Page({ params, zone }: PageProps) {
  const tags = useTags()
  const statedBy = params.get('by') ?? 'service'
  const split = splitOf(statedBy, tags)
  const by = split ?? 'service'
  const stated = params.get('measure')
  const measure = isMeasure(stated) ? stated : 'cost_usd'
  const filters = filtersOf(params, REPORT_FIELDS)
  const nowMs = Math.floor(Date.now() / QUARTER_MS) * QUARTER_MS
  const named = params.get('period') ?? DEFAULT_PERIOD
  const period = periodOf(named, zone, nowMs)
  const comparison = comparisonParams(params.get('compare'), period, zone)
  // Whether a tag is declared is known in a moment.
  const key = split === undefined ? '' : JSON.stringify([period, zone, by, filters, comparison])
  const newest = useNewest()
  const answer = useAnswer(key, (signal) =>
    timed(() =>
      loadOverview({ period, comparison, stated: named, zone, by, filters, newestAtMs: newest.atMs }, signal),
    ),
  )
  useReloadAfter(newest.atMs, answer)
  // Once it leads by the hand, it does so until the first call is in the figures.
  const isFirstRun = useRef(false)
  if (newest.id === null) isFirstRun.current = true

  return (
    <Shown answer={answer} what="the figures" placeholder={<Placeholder />}>
      {({ value: figures }) =>
        figures.charging.rows.length === 0 && isFirstRun.current ? (
          <FirstRun />
        ) : (
          <>
            <Totals figures={figures} newestAtMs={newest.atMs} />
            <div class="controls">
              <label>
                by{' '}
                <select
                  value={by}
                  onChange={({ currentTarget }) =>
                    setParams({ by: currentTarget.value === 'service' ? '' : currentTarget.value })
                  }
                >
                  {Object.entries(DIMENSIONS).map(([name, title]) => (
                    <option key={name} value={name}>
                      {title}
                    </option>
                  ))}
                  {tags?.map(({ name }) => (
                    <option key={name} value={name}>
                      {fieldShown(name)}
                    </option>
                  ))}
                </select>
              </label>
              <fieldset class="switch">
                <legend class="hidden">Shown</legend>
                {MEASURES.map((name) => (
                  <label key={name}>
                    <input
                      type="radio"
                      name="measure"
                      checked={name === measure}
                      onChange={() => setParams({ measure: name === 'cost_usd' ? '' : name }, 'replace')}
                    />
                    {MEASURE_NAMES[name]}
                  </label>
                ))}
              </fieldset>
              <FormSwitch form={formOf(params.get('chart'))} />
            </div>
            {split === null && (
              <p class="notice" role="status">
                There is nothing to split by that is called “<Name>{statedBy}</Name>”: the figures are by service.
              </p>
            )}
            <Filters
              fields={REPORT_FIELDS}
              filters={filters}
              unheld={unheldFilters(params, REPORT_FIELDS)}
              onChange={(next) => goTo(addressOf('', withFilters(params, next)))}
            />
            <OverTime figures={figures} measure={measure} params={params} />
            <WhatChanged figures={figures} params={params} />
            <Breakdown key={figures.by} figures={figures} params={params} />
          </>
        )
      }
    </Shown>
  )
}

const QUARTER_MS = 15 * 60 * 1000

const WhatChanged = onDemand('what changed', async () => (await import('./changes.js')).WhatChanged)

/** Until the next load there is as long as the last one took, so that large tenants do not ask all the time. */
const PAUSE_FACTOR = 1
const PAUSE_MS_MIN = 500

interface Timed {
  readonly value: OverviewFigures
  readonly tookMs: number
  /** By the browser's monotonic clock. */
  readonly endedAt: number
}

async function timed(load: () => Promise<OverviewFigures>): Promise<Timed> {
  const startedAt = performance.now()
  const value = await load()
  const endedAt = performance.now()
  return { value, tookMs: endedAt - startedAt, endedAt }
}

/** Loads again, some time after the last load, when there is a newer record than the figures have. */
function useReloadAfter(newestAtMs: number | undefined, answer: Answer<Timed>): void {
  const { value: shown, problem, isLoading, reload } = answer
  const asOfMs = shown?.value.asOfMs
  const dueAt = shown && shown.endedAt + Math.max(PAUSE_MS_MIN, shown.tookMs * PAUSE_FACTOR)
  useEffect(() => {
    if (isLoading || problem !== undefined || newestAtMs === undefined) return
    if (asOfMs === undefined || dueAt === undefined || newestAtMs <= asOfMs) return
    const timer = setTimeout(reload, Math.max(0, dueAt - performance.now()))
    return () => clearTimeout(timer)
  }, [newestAtMs, asOfMs, dueAt, isLoading, problem, reload])
}

const Placeholder = () => (
  <div aria-hidden="true">
    <div class="placeholder totals-place" />
    <div class="placeholder chart-place" />
    <div class="placeholder table-place" />
  </div>
)
