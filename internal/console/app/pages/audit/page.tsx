import { Fragment } from 'preact'
import { AUDIT_ACTIONS, AUDIT_OUTCOMES } from '../../../../auth/audit-entry.js'
import { type ChainState, chainOf } from '../../../figures/audit-chain.js'
import { statedNames, typedActors } from '../../../figures/audit-names.js'
import { countShown } from '../../../figures/shown.js'
import { setParams } from '../../address/address.js'
import { shownPeriod } from '../../address/period.js'
import { useAnswer } from '../../api/use-answer.js'
import { useList } from '../../api/use-list.js'
import { Copies } from '../../parts/copy.js'
import { Instant } from '../../parts/instant.js'
import { ListSection } from '../../parts/list-section.js'
import { Inside, Opens, openingOf } from '../../parts/opens.js'
import { type Actors, useActors, Who } from '../../parts/who.js'
import { currentTokens } from '../../session/session.js'
import type { PageProps } from '../page-props.js'
import { Details } from './details.js'
import { AUDIT_PATH, type Entry } from './entry.js'

const HEAD = ['at', 'who', 'did', 'to', 'outcome']
const FILTERS = ['action', 'actor', 'outcome'] as const

/** Who changed what, and who was refused. */
export function Page({ params, zone }: PageProps) {
  const period = shownPeriod(params, zone)
  const filters = Object.fromEntries(FILTERS.map((name) => [name, params.get(name) ?? '']).filter(([, value]) => value))
  const list = useList<Entry>(AUDIT_PATH, {
    from: new Date(period.fromMs).toISOString(),
    to: new Date(period.toMs).toISOString(),
    ...filters,
  })
  const actors = useActors()
  const names = new Map([...statedNames(list.rows, actors), ...actors])
  const opening = openingOf(params, 'entry')
  return (
    <ListSection
      title="Audit log"
      what="the audit log"
      about={period.label}
      actions={<Choices params={params} actors={actors} />}
      list={list}
      head={HEAD}
      empty={`Nothing in ${period.label}${Object.keys(filters).length > 0 ? ' that matches' : ''}.`}
      row={(entry) => (
        <Fragment key={entry.sequence}>
          <tr class={entry.outcome === 'succeeded' ? undefined : 'apart'}>
            <td>
              <Opens id={String(entry.sequence)} opening={opening}>
                <Instant ms={Date.parse(entry.created_at)} zone={zone} hasSeconds />
              </Opens>
            </td>
            <td>
              <Who id={entry.actor} actors={names} />
            </td>
            <td>{actionShown(entry.action)}</td>
            <td class="wide">{entry.target !== null && <Who id={entry.target} actors={names} />}</td>
            <td>
              {entry.outcome}
              {entry.error_code !== null && <span class="muted"> {entry.error_code}</span>}
              {entry.repeats > 1 && <span class="muted"> ×{countShown(entry.repeats)}</span>}
            </td>
          </tr>
          {opening.isOpen(String(entry.sequence)) && (
            <Inside columns={HEAD.length}>
              <Details entry={entry} names={names} />
            </Inside>
          )}
        </Fragment>
      )}
    >
      <Chain entries={list.rows} />
    </ListSection>
  )
}

const actionShown = (action: string): string => {
  const [object = '', verb = ''] = action.replaceAll('_', ' ').split('.')
  return `${verb} · ${object}`
}

interface ChoicesProps {
  readonly params: URLSearchParams
  readonly actors: Actors
}

/** By whom, what, and how it ended; by when is the period of the page. */
function Choices({ params, actors }: ChoicesProps) {
  const choose = (name: string) => (event: { readonly currentTarget: { readonly value: string } }) =>
    setParams({ [name]: event.currentTarget.value, entry: '' })
  const actor = params.get('actor') ?? ''
  const typed = new Map([['cli', 'the command line'], ...typedActors(actors)])
  const chooseActor = (text: string): void => {
    const [id = text] = [...typed].find(([, name]) => name === text) ?? []
    setParams({ actor: id, entry: '' })
  }
  const actorShown = typed.get(actor) ?? actor
  return (
    <>
      <label>
        <span class="hidden">Action</span>
        <select value={params.get('action') ?? ''} onChange={choose('action')}>
          <option value="">all actions</option>
          {[...AUDIT_ACTIONS].sort().map((action) => (
            <option key={action} value={action}>
              {action.replaceAll('_', ' ')}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="hidden">Outcome</span>
        <select value={params.get('outcome') ?? ''} onChange={choose('outcome')}>
          <option value="">all outcomes</option>
          {AUDIT_OUTCOMES.map((outcome) => (
            <option key={outcome} value={outcome}>
              {outcome}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="hidden">Who</span>
        <input
          key={actorShown}
          type="search"
          data-filter
          list="actors"
          placeholder="by whom"
          defaultValue={actorShown}
          onChange={({ currentTarget }) => chooseActor(currentTarget.value.trim())}
        />
      </label>
      <datalist id="actors">
        {[...typed].map(([id, name]) => (
          <option key={id} value={name}>
            {actors.get(id)}
          </option>
        ))}
      </datalist>
    </>
  )
}

/** What the entries at hand prove by themselves, and what proves the rest. */
function Chain({ entries }: { readonly entries: readonly Entry[] }) {
  const key = entries.length === 0 ? '' : `${entries[0]?.hash} ${entries.length}`
  const { value: state } = useAnswer<ChainState>(key, () => chainOf(entries))
  if (entries.length === 0 || state === undefined) return null
  return (
    <>
      {state.kind === 'broken' ? (
        <p role="alert">
          Entry {countShown(state.sequence)} does not follow from the one before it: one of them was changed.
        </p>
      ) : (
        <p class="muted" role="status" data-chain={state.kind}>
          {state.kind === 'whole'
            ? `Entries ${countShown(state.first)} to ${countShown(state.last)} follow each other: ` +
              'each has the hash of the one before it.'
            : 'Each entry has the hash of the one before it. Without filters, this page checks that.'}
        </p>
      )}
      <p class="muted">
        The whole log, with its signatures, is checked by{' '}
        <Copies text={`npx attribution audit verify --tenant ${currentTokens()?.tenantId}`} />.
      </p>
    </>
  )
}
