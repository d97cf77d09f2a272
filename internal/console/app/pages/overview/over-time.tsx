import { useEffect, useMemo } from 'preact/hooks'
import { formatQuantity, parseSum, sum } from '../../../../units/quantity.js'
import { addressOf, changed, sharedParams } from '../../../figures/address.js'
import { drillOf } from '../../../figures/drill.js'
import { type Filter, fieldNamed, withFilters } from '../../../figures/filters.js'
import { intervalsOf } from '../../../figures/period.js'
import { formOf } from '../../../figures/plot.js'
import { fractionOf } from '../../../figures/shares.js'
import { countShown, measureShown, plainShown, shareShown, usdShown } from '../../../figures/shown.js'
import {
  type Bar,
  type FoldedApart,
  foldedApart,
  namesOf,
  REST_BELOW,
  type Series,
  stackOf,
} from '../../../figures/stack.js'
import type { Measure } from '../../../figures/usage.js'
import { fieldShown } from '../../../figures/words.js'
import { goTo, setParams } from '../../address/address.js'
import { MARKS_CHANGED, type Mark, readMarks } from '../../api/marks.js'
import { useAnswer } from '../../api/use-answer.js'
import { Chart } from '../../chart/chart.js'
import { hasScope } from '../../session/session.js'
import { labelShown } from './dimensions.js'
import type { OverviewFigures } from './load.js'
import { StackTable } from './stack-table.js'

interface OverTimeProps {
  readonly figures: OverviewFigures
  readonly measure: Measure
  readonly params: URLSearchParams
}

const MEASURED: Readonly<Record<Measure, { readonly title: string; readonly unit: string }>> = {
  cost_usd: { title: 'Cost', unit: 'USD' },
  energy_wh: { title: 'Energy', unit: 'Wh' },
  carbon_gco2e: { title: 'Carbon', unit: 'gCO₂e' },
  calls: { title: 'Calls', unit: 'calls' },
}

const writers: Readonly<Record<Measure, (amount: string) => string>> = {
  cost_usd: (amount) => `USD ${usdShown(amount)}`,
  energy_wh: (amount) => measureShown(amount, 'energy'),
  carbon_gco2e: (amount) => measureShown(amount, 'carbon'),
  calls: (amount) => `${countShown(Number(amount))} calls`,
}

/** The chart, its table and its CSV: one stack of exact figures. */
export function OverTime({ figures, measure, params }: OverTimeProps) {
  const { period, zone, by, filters } = figures
  const form = formOf(params.get('chart'))
  const { stack, apart } = useMemo(() => stacked(figures, measure), [figures, measure])
  const marks = useMarks(figures)
  const { title, unit } = MEASURED[measure]
  const write = writers[measure]
  const step = period.interval === '15m' ? '15 minutes' : period.interval
  const nameOf = (series: Series): string => seriesName(series, by)
  const read = (bars: readonly Bar[]): readonly string[] => {
    const whole = added(bars.map(({ total }) => total))
    if (bars.every(({ isHidden }) => isHidden)) return ['no calls, or those of too few people']
    const parts = stack.series.flatMap((series, at) => {
      const part = added(bars.map(({ parts }) => parts[at] ?? '0'))
      const share = form === 'share' ? fractionOf(part, whole) : undefined
      return part === '0'
        ? []
        : [`${nameOf(series)} ${share === undefined ? '' : `${shareShown(share)}, `}${write(part)}`]
    })
    return [write(whole), ...parts]
  }
  const open = (fromMs: number, toMs: number, series: Series | undefined): void => {
    const drill = drillOf(period.interval, fromMs, toMs, zone)
    if (drill.kind === 'period') return setParams({ period: drill.period })
    const within = [...filters, ...drill.filters, ...filtersOfSeries(series, by)]
    goTo(addressOf('explorer', withFilters(sharedParams(changed(params, { period: drill.period })), within)))
  }
  const leadsToCalls = drillOf(period.interval, period.fromMs, period.toMs, zone).kind === 'calls'
  if (figures.intervals.rows.length === 0) return <p class="state muted">No calls in {period.label}.</p>
  return (
    <section aria-label={`${title} over time`} data-chart-total={stack.total}>
      <Chart
        stack={stack}
        form={form}
        interval={period.interval}
        zone={zone}
        dimension={by}
        marks={marks}
        nameOf={nameOf}
        read={read}
        writeTick={(amount) => tickShown(amount, form === 'share' ? 'share' : measure)}
        unit={form === 'share' ? '' : measure === 'cost_usd' || measure === 'calls' ? unit : ''}
        label={`${title} per ${step} by ${fieldShown(by)}, ${period.label}.`}
        open={leadsToCalls && !hasScope('read:attribution') ? undefined : open}
      />
      {figures.areCellsCut && (
        <p class="notice">
          The largest amounts alone have their colours, since there are too many; all smaller ones are in “other”.
        </p>
      )}
      {apart !== undefined && <FoldsApart apart={apart} step={step} write={write} by={by} />}
      {stack.together !== '0' && (
        <p class="notice">
          {write(stack.together)} were made in times that are shown together, as one at least has too few people. They
          are in the totals, and in no bar: these times have a hatched foot, as those without calls.
        </p>
      )}
      <StackTable stack={stack} figures={figures} measure={measure} nameOf={nameOf} unit={unit} />
    </section>
  )
}

const NO_MARKS: readonly Mark[] = []

const MINUTE_MS = 60_000

/** What happened in the period; nothing where it cannot be read: the figures do without it. */
function useMarks({ period: { fromMs, toMs }, asOfMs }: OverviewFigures): readonly Mark[] {
  // Figures are read anew with each call, marks no more often than each minute.
  const key = `${fromMs} ${toMs} ${Math.floor(asOfMs / MINUTE_MS)}`
  const { value, reload } = useAnswer(key, (signal) => readMarks(fromMs, toMs, signal))
  useEffect(() => {
    addEventListener(MARKS_CHANGED, reload)
    return () => removeEventListener(MARKS_CHANGED, reload)
  }, [reload])
  return value ?? NO_MARKS
}

function stacked(figures: OverviewFigures, measure: Measure) {
  const { period, zone, by, labels, intervals, cells, areCellsCut: isCut } = figures
  const question = {
    intervals: intervals.rows,
    cells,
    isCut,
    startsMs: intervalsOf(period, zone),
    toMs: period.toMs,
    dimension: by,
    order: namesOf(labels.rows, by),
    measure,
  }
  const stack = stackOf(question)
  return { stack, apart: labels.isCut ? undefined : foldedApart(stack, labels.rows, question) }
}

function seriesName({ kind, key }: Series, by: string): string {
  switch (kind) {
    case 'named':
      return labelShown(by, key)
    case 'nobody':
      return 'nobody'
    case 'folded':
      return 'small groups'
    case 'rest':
      return key === REST_BELOW ? 'other, below zero' : 'other'
  }
}

/** Of a name whose calls the explorer can find. */
const filtersOfSeries = (series: Series | undefined, by: string): readonly Filter[] =>
  series?.kind === 'named' && fieldNamed(by) !== undefined ? [{ field: by, operator: 'eq', value: series.key }] : []

const added = (amounts: readonly string[]): string => formatQuantity(sum(amounts.map((text) => parseSum(text))))

const NAMES_MAX = 3

interface FoldsApartProps {
  readonly apart: FoldedApart
  readonly step: string
  readonly write: (amount: string) => string
  readonly by: string
}

const ALL = new Intl.ListFormat('en')

/** Why the rows of the table below are not those of the chart. */
function FoldsApart({ apart: { chart, table, names }, step, write, by }: FoldsApartProps) {
  const more = Math.max(0, names.length - NAMES_MAX)
  const listed = [
    ...names.slice(0, NAMES_MAX).map((name) => labelShown(by, name)),
    ...(more > 0 ? [`${countShown(more)} more`] : []),
  ]
  return (
    <p class="notice">
      Small groups are {chart === '0' ? 'nothing' : write(chart)} in this chart and{' '}
      {table === '0' ? 'nothing' : write(table)} in the table below: here people are counted within each {step}, there
      within the whole period.
      {listed.length > 0 && ` So ${ALL.format(listed)} ${names.length === 1 ? 'has' : 'have'} other amounts there.`}
    </p>
  )
}

function tickShown(amount: number, measure: Measure | 'share'): string {
  const text = amount.toFixed(9).replace(/\.?0+$/, '')
  switch (measure) {
    case 'share':
      return shareShown(text, 0)
    case 'calls':
      return countShown(amount)
    case 'cost_usd':
      return plainShown(text)
    case 'energy_wh':
      return measureShown(text, 'energy')
    case 'carbon_gco2e':
      return measureShown(text, 'carbon')
  }
}
