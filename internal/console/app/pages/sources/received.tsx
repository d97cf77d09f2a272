import type { Source } from 'attribution-service/sdk/api'
import { whyPassedOver } from '../../../figures/coverage.js'
import { countShown } from '../../../figures/shown.js'
import type { Key } from '../../api/keys.js'
import { useList } from '../../api/use-list.js'
import { Ago } from '../../parts/instant.js'
import { ListSection } from '../../parts/list-section.js'
import { Id, Name } from '../../parts/name.js'

const HEAD = ['sent by', 'with', 'newest', '#received', '#records', '#merged', '#passed over', '#rejected', 'to know']

interface ReceivedProps {
  /** Those that the person may see: others show by their ids. */
  readonly keys: readonly Key[]
}

/** What became of all that each source sent, and what to change there. */
export function Received({ keys }: ReceivedProps) {
  const list = useList<Source>('/api/v1/sources')
  const names = new Map(keys.map(({ id, name }) => [id, name]))
  return (
    <ListSection
      title="What became of it"
      what="what was received"
      about="The last 24 hours: all that each source sent became a record, was merged into one, or did not, and why."
      list={list}
      head={HEAD}
      empty="Nothing has arrived yet."
      row={(source) => (
        <tr key={`${source.credential} ${source.intake} ${source.sender}`}>
          <th scope="row">
            <Name>{source.sender === null ? source.intake : `${source.intake}: ${source.sender}`}</Name>
          </th>
          <td>
            <Credential id={source.credential} names={names} />
          </td>
          <td>{source.last_received_at === null ? '–' : <Ago ms={Date.parse(source.last_received_at)} />}</td>
          <td class="number">{countShown(source.received)}</td>
          <td class="number">{countShown(source.calls)}</td>
          <td class="number">{countShown(source.merged)}</td>
          <td class="number">{countShown(source.passed_over.count)}</td>
          <td class="number">{countShown(source.rejected.count)}</td>
          <td class="wide">
            <ToKnow source={source} />
          </td>
        </tr>
      )}
    />
  )
}

interface CredentialProps {
  readonly id: string | null
  readonly names: ReadonlyMap<string, string>
}

function Credential({ id, names }: CredentialProps) {
  if (id === null) return <>people’s sign-ins</>
  const name = names.get(id)
  return name === undefined ? <Id>{id}</Id> : <Name>{name}</Name>
}

/** Reasons that are shown; the API has all. */
const REASONS_MAX = 4

function ToKnow({ source }: { readonly source: Source }) {
  const { passed_over: passedOver, rejected, refused_requests: refused, field_names: fields } = source
  const reasons = [...rejected.reasons, ...passedOver.reasons].slice(0, REASONS_MAX)
  const counts = [
    [source.unpriced, 'without a price'],
    [source.without_service, 'without a service'],
    [source.perhaps_twice, 'perhaps twice'],
    [refused.count, 'refused as whole requests'],
  ] as const
  const told = counts.filter(([count]) => count > 0).map(([count, what]) => `${countShown(count)} ${what}`)
  return (
    <>
      {source.advice.map(({ code, text }) => (
        <p key={code} class="doubt">
          {text}
        </p>
      ))}
      {told.length > 0 && <p>{told.join(', ')}.</p>}
      {reasons.map(({ reason, service, count }) => (
        <p key={`${reason} ${service}`} class="muted">
          {countShown(count)}: {whyPassedOver(reason)}
          {service !== null && (
            <>
              {' '}
              (<Name>{service}</Name>)
            </>
          )}
        </p>
      ))}
      {fields.length > 0 && <p class="muted">Not read: {fields.join(', ')}</p>}
    </>
  )
}
