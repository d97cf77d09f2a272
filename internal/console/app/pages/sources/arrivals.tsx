import type { PathwayCoverage } from 'attribution-service/sdk/api'
import type { Period } from '../../../figures/period.js'
import { countShown, decimalShown, decimalsOf, shareShown } from '../../../figures/shown.js'
import { fractionOf } from '../../../figures/trust.js'
import type { UsageRow } from '../../../figures/usage.js'
import { wordOf } from '../../../figures/words.js'
import { ask } from '../../api/ask.js'
import { readUsage } from '../../api/usage.js'
import { useAnswer } from '../../api/use-answer.js'
import { Ago } from '../../parts/instant.js'
import { Name } from '../../parts/name.js'
import { Shown } from '../../parts/states.js'
import { Table } from '../../parts/table.js'
import { hasScope } from '../../session/session.js'

type Pathway = Pick<PathwayCoverage, 'pathway' | 'last_event_at'>

interface ArrivalsProps {
  readonly period: Period
  readonly zone: string
}

/** The calls of the period by the layer that captured them and the way that they took. */
export function Arrivals({ period, zone }: ArrivalsProps) {
  const span = { from: new Date(period.fromMs).toISOString(), to: new Date(period.toMs).toISOString() }
  const answer = useAnswer(JSON.stringify([span, zone]), async (signal) => {
    const question = { ...span, time_zone: zone, group_by: 'ingestion_layer,pathway_category', sort: '-calls' }
    const [usage, coverage] = await Promise.all([
      readUsage(question, signal),
      hasScope('read:attribution')
        ? ask<{ readonly data: readonly Pathway[] }>('/api/v1/coverage', { signal })
        : undefined,
    ])
    return { usage, newest: new Map(coverage?.data.map((each) => [each.pathway, each.last_event_at])) }
  })
  return (
    <section class="list" aria-label="What arrives">
      <header>
        <h2>What arrives from where</h2>
        <p class="muted">{period.label}</p>
      </header>
      <Shown answer={answer} what="the sources" placeholder={<div class="placeholder table-place" />}>
        {({ usage: { rows }, newest }) =>
          rows.length === 0 ? (
            <p class="muted">No calls in {period.label}. Connect something below; it shows here within seconds.</p>
          ) : (
            <ArrivalsTable rows={rows} newest={newest} />
          )
        }
      </Shown>
    </section>
  )
}

interface TableProps {
  readonly rows: readonly UsageRow[]
  readonly newest: ReadonlyMap<string, string | null>
}

const HEAD = ['captured by', 'on the way', '#calls', '#unattributed', '#cost USD', 'newest call on this way']

function ArrivalsTable({ rows, newest }: TableProps) {
  const decimals = decimalsOf(rows.map((row) => row.cost_usd))
  return (
    <Table label="Calls by source" head={HEAD}>
      {rows.map((row) => {
        const [layer, pathway] = [String(row['ingestion_layer']), String(row['pathway_category'])]
        const newestAt = newest.get(pathway)
        return (
          <tr key={`${layer} ${pathway} ${row.folded}`} class={row.folded ? 'apart' : undefined}>
            <th scope="row">
              {row.folded ? (
                `${countShown(row.groups ?? 1)} small sources, of fewer than five people each`
              ) : (
                <Name>{layer}</Name>
              )}
            </th>
            <td>{row.folded ? '' : wordOf(pathway)}</td>
            <td class="number">{countShown(row.calls)}</td>
            <td class="number">{shareShown(fractionOf(String(row.unattributed_calls), String(row.calls)) ?? '0')}</td>
            <td class="number">{decimalShown(row.cost_usd, decimals)}</td>
            <td>{row.folded || typeof newestAt !== 'string' ? '–' : <Ago ms={Date.parse(newestAt)} />}</td>
          </tr>
        )
      })}
    </Table>
  )
}
