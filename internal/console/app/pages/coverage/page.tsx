import { linkTo } from '../../../figures/address.js'
import { type Cell, cellOf, layersOf, type Pathway, whyPassedOver } from '../../../figures/coverage.js'
import { countShown, shareShown } from '../../../figures/shown.js'
import { wordOf } from '../../../figures/words.js'
import { useList } from '../../api/use-list.js'
import { Ago } from '../../parts/instant.js'
import { ListSection } from '../../parts/list-section.js'
import { Name } from '../../parts/name.js'
import { Table } from '../../parts/table.js'
import type { PageProps } from '../page-props.js'

const WORDS: Readonly<Record<Exclude<Cell, 'none'>, string>> = {
  deployed: 'sends calls',
  missing: 'missing',
  discovery: 'traffic only',
}
const FILLS: Readonly<Record<Exclude<Cell, 'none'>, string>> = {
  deployed: 'trust-ready',
  missing: 'missing',
  discovery: 'trust-estimated',
}

const STATUS: Readonly<Record<Pathway['status'], string>> = {
  covered: 'covered',
  degraded: 'a layer is missing',
  discovery_only: 'traffic, but no calls',
  silent: 'silent',
}

/** Which layers capture calls on which way to the providers. */
export function Page({ params }: PageProps) {
  const list = useList<Pathway>('/api/v1/coverage')
  const layers = layersOf(list.rows)
  return (
    <ListSection
      title="Coverage"
      what="the coverage"
      about={
        'The last 24 hours: which layers send the calls of each pathway to the providers, ' +
        'and which are expected and do not.'
      }
      list={list}
      head={['pathway', 'status', ...layers, 'newest call', '#nobody']}
      empty="No calls have come on any pathway yet, and the directory expects none."
      row={(pathway) => (
        <tr key={pathway.pathway}>
          <th scope="row">
            <a href={linkTo('explorer', params, { 'filter[pathway_category][eq]': pathway.pathway })}>
              {wordOf(pathway.pathway)}
            </a>
          </th>
          <td class={pathway.status === 'covered' ? undefined : 'doubt'}>{STATUS[pathway.status]}</td>
          {layers.map((layer) => (
            <MapCell key={layer} cell={cellOf(pathway, layer)} />
          ))}
          <td>{pathway.last_event_at === null ? 'never' : <Ago ms={Date.parse(pathway.last_event_at)} />}</td>
          <td class="number">{pathway.unattributed_share === null ? '–' : shareShown(pathway.unattributed_share)}</td>
        </tr>
      )}
    >
      <p class="muted">
        A layer is missing if the <a href={linkTo('directory', params, { list: 'layers' })}>directory</a> expects it on
        the pathway, or it sent calls on three of the seven days before. <q>Nobody</q>: calls without a service or
        identity that the directory knows.
      </p>
      <PassedOver pathways={list.rows} />
    </ListSection>
  )
}

const MapCell = ({ cell }: { readonly cell: Cell }) => (
  <td class={cell === 'none' ? 'muted' : undefined}>
    {cell !== 'none' && (
      <svg class="square" aria-hidden="true">
        <rect class={FILLS[cell]} width="100%" height="100%" />
      </svg>
    )}
    {cell === 'none' ? <span title="not expected here">·</span> : WORDS[cell]}
  </td>
)

/** What the intake port took and made no calls of: why a pathway is silent, or fewer calls come than expected. */
function PassedOver({ pathways }: { readonly pathways: readonly Pathway[] }) {
  const rows = pathways.flatMap(({ pathway, passed_over: passedOver }) =>
    passedOver.map((each) => ({ pathway, ...each })),
  )
  if (rows.length === 0) return null
  return (
    <section class="part" aria-label="Telemetry that became no calls">
      <h2>Telemetry that became no calls</h2>
      <p class="muted">The last 24 hours: what the intake port took that is no call of a model, and why.</p>
      <Table label="Telemetry that became no calls" head={['pathway', 'sent by', '#how many', 'why', 'newest']}>
        {rows.map(({ pathway, layer, kind, count, last_at: lastAt }) => (
          <tr key={`${pathway} ${layer} ${kind}`}>
            <th scope="row">{wordOf(pathway)}</th>
            <td>
              <Name>{layer}</Name>
            </td>
            <td class="number">{countShown(count)}</td>
            <td class="wide">{whyPassedOver(kind)}</td>
            <td>
              <Ago ms={Date.parse(lastAt)} />
            </td>
          </tr>
        ))}
      </Table>
    </section>
  )
}
