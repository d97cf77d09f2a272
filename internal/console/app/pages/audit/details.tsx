import { countShown } from '../../../figures/shown.js'
import { Id } from '../../parts/name.js'
import { type Actors, Who } from '../../parts/who.js'
import type { Entry } from './entry.js'

interface DetailsProps {
  readonly entry: Entry
  readonly names: Actors
}

/** Everything that an entry says: where it came from, and what it changed. */
export const Details = ({ entry, names }: DetailsProps) => (
  <>
    <dl class="ledger">
      <dt>entry</dt>
      <dd>
        {entry.sequence}, hash <Id>{entry.hash}</Id>
      </dd>
      {entry.actor !== null && (
        <>
          <dt>who</dt>
          <dd>
            <Id>{entry.actor}</Id>
          </dd>
        </>
      )}
      {entry.target !== null && (
        <>
          <dt>to</dt>
          <dd>
            <Id>{entry.target}</Id>
          </dd>
        </>
      )}
      <dt>request</dt>
      <dd>
        trace <Id>{entry.trace_id}</Id>
        {entry.source_address !== null && `, from ${entry.source_address}`}
      </dd>
      {entry.error_code !== null && (
        <>
          <dt>problem</dt>
          <dd>{entry.error_code}</dd>
        </>
      )}
      {entry.repeats > 1 && (
        <>
          <dt>repeated</dt>
          <dd>{countShown(entry.repeats)} equal refusals in quick succession are this one entry.</dd>
        </>
      )}
    </dl>
    {entry.changes !== null && <Changes before={entry.changes.before} after={entry.changes.after} names={names} />}
  </>
)

type Members = Readonly<Record<string, unknown>>

interface ChangesProps {
  readonly before: unknown
  readonly after: unknown
  readonly names: Actors
}

/** Members that differ, or all of what was added or removed. */
function Changes({ before, after, names }: ChangesProps) {
  const [was, is] = [membersOf(before), membersOf(after)]
  const members = Object.keys({ ...was, ...is }).filter((name) => textOf(was?.[name]) !== textOf(is?.[name]))
  const shown = (value: unknown) => {
    const text = textOf(value)
    return names.has(text) ? <Who id={text} actors={names} /> : text
  }
  if (members.length === 0) return <p class="muted">Nothing in the configuration differs.</p>
  return (
    <table class="figures small">
      <thead>
        <tr>
          <th scope="col">what</th>
          {was !== undefined && <th scope="col">before</th>}
          {is !== undefined && <th scope="col">after</th>}
        </tr>
      </thead>
      <tbody>
        {members.map((name) => (
          <tr key={name}>
            <th scope="row">{name.replaceAll('_', ' ')}</th>
            {was !== undefined && <td class="wide">{shown(was[name])}</td>}
            {is !== undefined && <td class="wide">{shown(is[name])}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function membersOf(value: unknown): Members | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'object' && !Array.isArray(value) ? (value as Members) : { value }
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '–'
  if (Array.isArray(value)) return value.map(textOf).join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
