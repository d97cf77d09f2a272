import { DIMENSIONS as REPORT_FIELDS } from '../../../../filters/report-dimensions.js'
import { addressOf, sharedParams } from '../../../figures/address.js'
import {
  CHANGE_GROUPS,
  type Changes,
  DEFAULT_CHANGE_GROUPS,
  filtersOfMover,
  isNobody,
  type Line,
  linesOf,
  type Mover,
  restLabel,
  volumeOfParts,
} from '../../../figures/changes.js'
import { filterParams, filtersOf, withFilters } from '../../../figures/filters.js'
import { spanLabel } from '../../../figures/period.js'
import { callsShown, countShown, decimalShown, decimalsOf, signedShown, usdShown } from '../../../figures/shown.js'
import { setParams } from '../../address/address.js'
import { ask } from '../../api/ask.js'
import { useAnswer } from '../../api/use-answer.js'
import { DownloadCsv } from '../../parts/download-csv.js'
import { Instant } from '../../parts/instant.js'
import { Name } from '../../parts/name.js'
import { Scroll } from '../../parts/scroll.js'
import { Shown } from '../../parts/states.js'
import { hasScope } from '../../session/session.js'
import { labelShown } from './dimensions.js'
import { Happened } from './happened.js'
import type { OverviewFigures } from './load.js'

interface ChangesProps {
  readonly figures: OverviewFigures
  readonly params: URLSearchParams
}

/** Newer calls move the totals at once, and this, which is read by the minute, with the next one. */
const EVERY_MS = 60_000

/** Why the cost is not what it was: what moved most, up and down; the lines add up to the difference. */
export function WhatChanged({ figures, params }: ChangesProps) {
  const { charging, zone, filters, asOfMs } = figures
  const { from, to, as_of: asOf, compared_with: before } = charging.scope
  const stated = params.get('changes') ?? DEFAULT_CHANGE_GROUPS
  const groups = Object.hasOwn(CHANGE_GROUPS, stated) ? stated : DEFAULT_CHANGE_GROUPS
  const question = {
    ...{ from, to, time_zone: zone, group_by: groups, movers: '8' },
    ...(before !== undefined && { compare_from: before.from, compare_to: before.to }),
  }
  const key = JSON.stringify([question, filters, Math.floor(asOfMs / EVERY_MS)])
  const answer = useAnswer(key, (signal) => {
    const query = new URLSearchParams({ ...question, as_of: asOf })
    for (const [name, values] of Object.entries(filterParams(filters)))
      for (const value of values) query.append(name, value)
    return ask<Changes>(`/api/v1/reports/changes?${query}`, { signal })
  })
  return (
    <section class="changes" aria-label="What changed">
      <div class="controls">
        <h2>What changed</h2>
        <label>
          by{' '}
          <select
            value={groups}
            onChange={({ currentTarget: { value } }) =>
              setParams({ changes: value === DEFAULT_CHANGE_GROUPS ? '' : value }, 'replace')
            }
          >
            {Object.entries(CHANGE_GROUPS).map(([name, titles]) => (
              <option key={name} value={name}>
                {titles.join(' × ')}
              </option>
            ))}
          </select>
        </label>
        {answer.value !== undefined && (
          <DownloadCsv name="what-changed" head={csvHead(answer.value)} rows={() => csvRows(answer.value)} />
        )}
      </div>
      <Shown answer={answer} what="what changed" placeholder={<div class="placeholder table-place" />}>
        {(changes) => <Explained changes={changes} zone={zone} params={params} />}
      </Shown>
      <Happened period={figures.period} zone={zone} />
    </section>
  )
}

interface ExplainedProps {
  readonly changes: Changes
  readonly zone: string
  readonly params: URLSearchParams
}

function Explained({ changes, zone, params }: ExplainedProps) {
  const { whole, report, suppressed } = changes
  const { from, to } = report.compared_with
  const before = spanLabel(Date.parse(from), Date.parse(to), zone)
  const lines = linesOf(changes)
  if (lines.length === 0) return <p class="muted">No calls, neither in this period nor in {before}.</p>
  const isLess = whole.change_usd.startsWith('-')
  return (
    <>
      {suppressed !== undefined && (
        <p class="notice" role="status">
          The filters select fewer than {report.min_cohort} people in one of the periods: this is the change of the
          larger group.
        </p>
      )}
      <p data-change={whole.change_usd}>
        {whole.change_usd === '0' ? (
          <>As much as in {before}</>
        ) : (
          <>
            USD {usdShown(whole.change_usd.replace('-', ''))} {isLess ? 'less' : 'more'} than in {before}
          </>
        )}
        <Effects effects={whole.effects} />{' '}
        <span class="muted">
          As of <Instant ms={Date.parse(report.as_of)} zone={zone} />.
        </span>
      </p>
      <BestExplanation changes={changes} />
      <MoversTable changes={changes} lines={lines} params={params} />
    </>
  )
}

/** By what it is explained best, where that is not what one sees anyway. */
function BestExplanation({ changes: { explains_most: most, report } }: Pick<ExplainedProps, 'changes'>) {
  const by = most?.group_by.join(',') ?? ''
  const titles = CHANGE_GROUPS[by]
  if (most === null || titles === undefined || report.group_by.length === 1) return null
  return (
    <p>
      Explained best by {titles.join(' × ')}:{' '}
      {most.group_by.map((field, at) => (
        <span key={field}>
          {at > 0 && ' · '}
          <Name>{labelShown(field, String(most[field] ?? ''))}</Name>
        </span>
      ))}{' '}
      changed most relative to its share of the earlier cost.{' '}
      {by !== report.group_by.join(',') && (
        <button type="button" class="quiet" onClick={() => setParams({ changes: by }, 'replace')}>
          Show it by {titles.join(' × ')}
        </button>
      )}
    </p>
  )
}

const WHOLE_EFFECTS = {
  volume_usd: 'more or fewer calls',
  mix_usd: 'calls that moved to dearer or cheaper groups',
  size_usd: 'tokens per call',
  price_usd: 'price per token',
} as const

/** In words: ", of it +900.00 by more or fewer calls, …" */
function Effects({ effects }: { readonly effects: Changes['whole']['effects'] }) {
  const named = Object.entries(WHOLE_EFFECTS).filter(([name]) => effects[name as keyof typeof effects] !== '0')
  const decimals = decimalsOf(Object.values(effects))
  if (named.length === 0) return <>.</>
  return (
    <>
      : of it{' '}
      {named.map(([name, words], at) => (
        <span key={name}>
          {at > 0 && ', '}
          <b class="number">{signedShown(effects[name as keyof typeof effects], decimals)}</b> by {words}
        </span>
      ))}
      .
    </>
  )
}

interface MoversTableProps extends Omit<ExplainedProps, 'zone'> {
  readonly lines: readonly Line[]
}

function MoversTable({ changes, lines, params }: MoversTableProps) {
  const { whole, report } = changes
  const decimals = decimalsOf([whole, ...lines].map(({ change_usd: usd }) => usd))
  const usd = (text: string) => <td class="number">{signedShown(text, decimals)}</td>
  const dollars = (text: string) => <td class="number">{decimalShown(text, decimals)}</td>
  return (
    <Scroll label="Table of what changed">
      <table class="figures">
        <thead>
          <tr>
            <th scope="col">{CHANGE_GROUPS[report.group_by.join(',')]?.join(' · ')}</th>
            <th scope="col" class="number">
              change USD
            </th>
            <th scope="col" class="number" title="More or fewer calls, each at what a call cost before">
              by calls
            </th>
            <th scope="col" class="number" title="More or fewer tokens in each call">
              by tokens per call
            </th>
            <th scope="col" class="number" title="Prices, discounts, and the mix of input, cached and output tokens">
              by price per token
            </th>
            <th scope="col" class="number">
              before USD
            </th>
            <th scope="col" class="number">
              now USD
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line, at) => (
            <tr key={at} class={CLASSES[line.kind]}>
              <th scope="row">
                <What line={line} changes={changes} params={params} />
              </th>
              {usd(line.change_usd)}
              {usd(line.effects.volume_usd)}
              {usd(line.effects.size_usd)}
              {usd(line.effects.price_usd)}
              {dollars(line.beforeUsd)}
              {dollars(line.nowUsd)}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">together</th>
            {usd(whole.change_usd)}
            <td class="number" title="With the calls that moved to dearer or cheaper groups">
              {signedShown(volumeOfParts(changes), decimals)}
            </td>
            {usd(whole.effects.size_usd)}
            {usd(whole.effects.price_usd)}
            {dollars(whole.before.cost_usd)}
            {dollars(whole.now.cost_usd)}
          </tr>
        </tfoot>
      </table>
    </Scroll>
  )
}

const CLASSES = { mover: undefined, others: 'apart', rest: 'folded' } as const

function What({ line, changes, params }: { readonly line: Line } & Omit<ExplainedProps, 'zone'>) {
  if (line.kind === 'others') {
    const { groups } = changes.others
    return (
      <>
        {countShown(groups)} other {groups === 1 ? 'group' : 'groups'}
      </>
    )
  }
  if (line.mover === undefined) {
    return (
      <span title={`No row covers fewer than ${changes.report.min_cohort} people, in either of the periods`}>
        {restLabel(changes)} <span class="muted">(shown together)</span>
      </span>
    )
  }
  return <Group mover={line.mover} groupBy={changes.report.group_by} params={params} />
}

function Group({
  mover,
  groupBy,
  params,
}: {
  readonly mover: Mover
  readonly groupBy: readonly string[]
  readonly params: URLSearchParams
}) {
  const filters = filtersOfMover(mover, groupBy, filtersOf(params, REPORT_FIELDS))
  const shared = sharedParams(params)
  const unpriced = mover.now.unpriced_calls + mover.before.unpriced_calls
  return (
    <>
      <a href={addressOf('', withFilters(shared, filters))}>
        {groupBy.map((field, at) => (
          <span key={field}>
            {at > 0 && ' · '}
            {isNobody(mover, field) ? 'nobody' : <Name>{labelShown(field, mover[field] ?? '')}</Name>}
          </span>
        ))}
      </a>{' '}
      {mover.compared !== 'both' && <span class="muted">{mover.compared} </span>}
      {unpriced > 0 && <span class="muted">({callsShown(unpriced)} without a price) </span>}
      {hasScope('read:attribution') && <a href={addressOf('explorer', withFilters(shared, filters))}>calls</a>}
    </>
  )
}

const csvHead = ({ report }: Changes): readonly string[] => [
  ...report.group_by,
  ...['compared', 'change_usd', 'volume_usd', 'size_usd', 'price_usd', 'before_usd', 'now_usd'],
]

const csvRows = (changes: Changes | undefined) =>
  changes === undefined
    ? []
    : linesOf(changes).map(({ kind, mover, change_usd, effects, beforeUsd, nowUsd }) => [
        ...changes.report.group_by.map((field, at) =>
          mover === undefined
            ? at === 0
              ? kind === 'rest'
                ? restLabel(changes)
                : 'others'
              : ''
            : String(mover[field] ?? ''),
        ),
        mover?.compared ?? '',
        ...[change_usd, effects.volume_usd, effects.size_usd, effects.price_usd, beforeUsd, nowUsd],
      ])
