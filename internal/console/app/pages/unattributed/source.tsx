import { useState } from 'preact/hooks'
import { linkTo } from '../../../figures/address.js'
import { type Filter, filterName } from '../../../figures/filters.js'
import { callsShown, usdShown } from '../../../figures/shown.js'
import { wordOf } from '../../../figures/words.js'
import type { Entry } from '../../answers/answer.js'
import { AnswerForm } from '../../answers/answer-form.js'
import { ask } from '../../api/ask.js'
import { readUsage } from '../../api/usage.js'
import { useAnswer } from '../../api/use-answer.js'
import { BulkOverride } from '../../card/bulk-override.js'
import { Choice, Field } from '../../parts/field.js'
import { textOf } from '../../parts/form.js'
import { Name } from '../../parts/name.js'
import { hasScope } from '../../session/session.js'
import { IDENTITIES } from '../directory/kinds.js'
import { RuleForm } from '../directory/rule-form.js'
import type { Contradiction } from './load.js'
import { Amount, type DetailProps, Known, type Of } from './parts.js'

/** Calls that say nothing of who made them: by their key, by a rule, all for one service, or into a pool. */
export function Source(props: Of<'source'>) {
  const { item, services, onMoving } = props
  const of: readonly Filter[] = [
    { field: 'output_state', operator: 'eq', value: 'unresolved' },
    { field: 'contested', operator: 'ne', value: 'trace' satisfies Contradiction },
    { field: 'pathway_category', operator: 'eq', value: item.pathway },
    { field: 'provider', operator: 'eq', value: item.provider },
  ]
  return (
    <>
      <h3>
        {wordOf(item.pathway)} to <Name>{item.provider}</Name>
      </h3>
      <Amount item={item}>without a service or an identity that the directory knows.</Amount>
      <p>
        Best is to let the source say who calls: a key per service, or a rule on a tag, key alias, team or namespace.{' '}
        <a href={linkTo('explorer', new URLSearchParams(location.search), queryOf(of))}>Look at the calls</a>
      </p>
      {hasScope('admin:config') && (
        <>
          <Known services={services} />
          <KeyOf {...props} filters={of} />
          <Identity {...props} />
          <ByRule onMoving={onMoving} />
          <GiveAll {...props} filters={of} />
          <Pool {...props} />
        </>
      )}
    </>
  )
}

export const queryOf = (filters: readonly Filter[]): Readonly<Record<string, string>> =>
  Object.fromEntries(filters.map((filter) => [filterName(filter), filter.value]))

/** An identity that calls state and the directory lacks. Neither records nor jobs may store its name. */
function Identity({ period, zone, ofCalls, onMoving }: Of<'source'>) {
  return (
    <>
      <h3>A person or a program</h3>
      <p class="muted">
        The identity that these calls state. Records do not store names, so all calls of the period are re-attributed.
        To undo: remove the identity under Directory, and attribute the calls of the past again there.
      </p>
      <AnswerForm
        verb="Add the identity"
        isOneOfSeveral
        past={period}
        zone={zone}
        ofCalls={ofCalls}
        onMoving={onMoving}
        firstOf={(fields) => ['POST', IDENTITIES.path, { name: textOf(fields, 'name'), ...IDENTITIES.bodyOf(fields) }]}
        entryOf={() => ({})}
      >
        <IDENTITIES.Fields entry={undefined} />
      </AnswerForm>
    </>
  )
}

type WithFilters<T> = T & { readonly filters: readonly Filter[] }

interface Credential {
  readonly id: string
  readonly name: string
  readonly calls: number
  readonly cost: string
}

/** One of the keys that sent the calls is for one service. */
function KeyOf({ item, filters, period, zone, ofCalls, onMoving }: WithFilters<Of<'source'>>) {
  const { value: keys = [] } = useAnswer(JSON.stringify(['keys', item.key, period, zone]), (signal) =>
    credentialsOf(
      filters,
      { from: new Date(period.fromMs).toISOString(), to: new Date(period.toMs).toISOString() },
      signal,
    ),
  )
  if (keys.length === 0) return null
  const words = ({ name, calls, cost }: Credential): string => `${name}: ${callsShown(calls)}, USD ${usdShown(cost)}`
  return (
    <>
      <h3>A key of one service</h3>
      <AnswerForm
        verb="Its calls are of this service"
        isOneOfSeveral
        past={period}
        zone={zone}
        ofCalls={ofCalls}
        onMoving={onMoving}
        entryOf={(fields) => ({
          principal: { principal_id: textOf(fields, 'key') ?? '', service: textOf(fields, 'service') ?? '' },
        })}
      >
        <Choice label="Key" name="key" choices={Object.fromEntries(keys.map((key) => [key.id, words(key)]))} />
        <Field label="Service" hint="of calls that say nothing else" name="service" required list="known-services" />
      </AnswerForm>
    </>
  )
}

type Listed = { readonly data: readonly { readonly id: string; readonly name: string }[] }

/** Reports name credentials, and names may be shared: those are left out. */
async function credentialsOf(filters: readonly Filter[], span: object, signal: AbortSignal): Promise<Credential[]> {
  const [usage, ...lists] = await Promise.all([
    readUsage({ ...span, ...queryOf(filters), group_by: 'credential', sort: '-cost_usd' }, signal),
    ...['/api/v1/api-keys', '/api/v1/clients', '/api/v1/connectors'].map((path) =>
      ask<Listed>(`${path}?limit=200`, { signal }),
    ),
  ])
  if (usage.suppressed !== undefined) return []
  const known = lists.flatMap(({ data }) => data)
  return usage.rows.flatMap((row): Credential[] => {
    const [one, another] = known.filter(({ id, name }) => name === row['credential'] || id === row['credential'])
    if (row.folded || one === undefined || another !== undefined) return []
    return [{ id: one.id, name: one.name, calls: row.calls, cost: row.cost_usd }]
  })
}

/** A mapping rule, tried before it is saved. */
function ByRule({ onMoving }: Pick<DetailProps, 'onMoving'>) {
  const [isOpen, setOpen] = useState(false)
  return (
    <p>
      <button type="button" onClick={() => setOpen(true)}>
        Write a rule for such calls
      </button>
      {isOpen && <RuleForm rule={undefined} onClose={() => setOpen(false)} onSaved={() => onMoving(true)} />}
    </p>
  )
}

/** For those who may: all calls of the period that the filters select, for one service. */
export function GiveAll({ filters, period, onMoving }: WithFilters<Pick<DetailProps, 'period' | 'onMoving'>>) {
  if (!hasScope('admin:config')) return null
  return (
    <>
      <h3>Or give all of these calls to one service</h3>
      <BulkOverride period={period} filters={filters} onMoving={onMoving} />
    </>
  )
}

interface KnownPool {
  readonly name: string
  readonly rules: NonNullable<Entry['pool']>['rules']
}

/** Where nobody can be named: the cost is kept in a pool that somebody owns. */
function Pool({ item, period, zone, ofCalls, onMoving }: Of<'source'>) {
  const entryOf = async (fields: FormData): Promise<Entry> => {
    const [name, owner] = [textOf(fields, 'name') ?? '', textOf(fields, 'owner') ?? '']
    const { data } = await ask<{ readonly data: readonly KnownPool[] }>('/api/v1/pools?limit=200')
    const rules = data.find((pool) => pool.name === name)?.rules ?? []
    const isThere = rules.some((rule) => JSON.stringify(rule) === JSON.stringify({ provider: item.provider }))
    return { pool: { name, owner, rules: isThere ? rules : [...rules, { provider: item.provider }] } }
  }
  return (
    <>
      <h3>Or keep them in a cost pool</h3>
      <p class="muted">
        For calls to <Name>{item.provider}</Name> that nobody can be named for. They are not charged back; reports can
        spread the pool.
      </p>
      <AnswerForm
        verb="Keep them in the pool"
        isOneOfSeveral
        past={period}
        zone={zone}
        ofCalls={ofCalls}
        onMoving={onMoving}
        entryOf={entryOf}
      >
        <div class="pair">
          <Field label="Pool" name="name" required placeholder={`shared-${item.provider}`} />
          <Field label="Owner" name="owner" required placeholder="team-…" list="known-owners" />
        </div>
      </AnswerForm>
    </>
  )
}
