import type { Source } from 'attribution-service/sdk/api'
import { Fragment } from 'preact'
import { linkTo } from '../../../figures/address.js'
import { whyPassedOver } from '../../../figures/coverage.js'
import { countShown } from '../../../figures/shown.js'
import { nobodysKeyShown, wayShown } from '../../../figures/sources.js'
import type { List } from '../../api/use-list.js'
import { Ago } from '../../parts/instant.js'
import { ListSection } from '../../parts/list-section.js'
import { Id, Name } from '../../parts/name.js'
import { Sender } from './sender.js'

const HEAD = [
  'sent by',
  'through',
  'last call received',
  '#received',
  '#calls',
  '#no service',
  '#no price',
  '#rejected',
  '#passed over',
]

interface ReceivedProps {
  readonly sources: List<Source>
  readonly params: URLSearchParams
}

/** What each credential and sender sent, what became of it, and what to change there. */
export function Received({ sources, params }: ReceivedProps) {
  return (
    <ListSection
      title="What arrives"
      what="what was received"
      about="The last 24 hours, by credential and sender. These are machines: however few people use one, it shows."
      list={sources}
      head={HEAD}
      empty="Nothing has arrived in the last 24 hours. Connect something below; it shows here within seconds."
      row={(source) => (
        <Fragment key={`${source.credential} ${source.intake} ${source.sender}`}>
          <Row source={source} params={params} />
          <ToKnow source={source} />
        </Fragment>
      )}
    />
  )
}

interface RowProps {
  readonly source: Source
  readonly params: URLSearchParams
}

const Row = ({ source, params }: RowProps) => (
  <tr>
    <th scope="row">
      <Credential source={source} params={params} />
    </th>
    <td>
      <Name>{wayShown(source)}</Name>
    </td>
    <td>
      <LastCall source={source} params={params} />
    </td>
    <td class="number">{countShown(source.received)}</td>
    <td class="number">{countShown(source.calls)}</td>
    <td class="number">{countShown(source.without_service)}</td>
    <td class="number">{countShown(source.unpriced)}</td>
    <td class="number">{countShown(source.rejected.count)}</td>
    <td class="number">{countShown(source.passed_over.count)}</td>
  </tr>
)

function Credential({ source, params }: RowProps) {
  const { credential: id, credential_name: name, calls } = source
  if (id === null) return <>{nobodysKeyShown(source)}</>
  if (name === null) return <Id>{id}</Id>
  return <Sender name={name} calls={calls} params={params} />
}

/** When a new call came, and not when a record was attributed: a change of the directory is no sign of life. */
function LastCall({ source, params }: RowProps) {
  const { last_call_at: at, last_record: last } = source
  const atMs = Date.parse(at ?? last?.received_at ?? '')
  if (Number.isNaN(atMs)) return <>no call</>
  return (
    <>
      <Ago ms={atMs} />{' '}
      {last !== null && (
        <a
          href={linkTo('explorer', params, { record: last.id })}
          aria-label={`Open the last call through ${wayShown(source)}`}
        >
          open
        </a>
      )}
    </>
  )
}

/** Reasons that are shown; the API has all. */
const REASONS_MAX = 6

/** What became of the rest, and what to change at the sender: a row of its own, below that of the source. */
function ToKnow({ source }: Pick<RowProps, 'source'>) {
  const { advice, field_names: fields } = source
  const counts = countsOf(source)
  const reasons = reasonsOf(source)
  if (advice.length + counts.length + reasons.length + fields.length === 0) return null
  return (
    <tr class="notes">
      <td colSpan={HEAD.length}>
        <div>
          {advice.map(({ code, text }) => (
            <p key={code} class="doubt">
              {text}
            </p>
          ))}
          {counts.length > 0 && <p>{counts.join(', ')}.</p>}
          {reasons.slice(0, REASONS_MAX).map(({ became, reason, service, count }) => (
            <p key={`${became} ${reason} ${service}`} class="muted">
              {countShown(count)} {became}: {whyPassedOver(reason)}
              {service !== null && (
                <>
                  {' '}
                  (<Name>{service}</Name>)
                </>
              )}
            </p>
          ))}
          {reasons.length > REASONS_MAX && <p class="muted">And {reasons.length - REASONS_MAX} more reasons.</p>}
          {fields.length > 0 && (
            <p class="muted">
              Fields that are not read: <Name>{fields.join(', ')}</Name>
            </p>
          )}
        </div>
      </td>
    </tr>
  )
}

const countsOf = ({ merged, perhaps_twice: perhapsTwice }: Source): readonly string[] =>
  (
    [
      [merged, 'seen before, or by another source too'],
      [perhapsTwice, 'perhaps twice'],
    ] as const
  )
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${countShown(count)} ${what}`)

const reasonsOf = ({ refused_requests: refused, rejected, passed_over: passedOver }: Source) => [
  ...refused.reasons.map((each) => ({ ...each, became: 'requests refused whole' })),
  ...rejected.reasons.map((each) => ({ ...each, became: 'rejected' })),
  ...passedOver.reasons.map((each) => ({ ...each, became: 'passed over' })),
]
