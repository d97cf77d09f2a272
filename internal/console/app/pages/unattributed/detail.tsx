import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { linkTo } from '../../../figures/address.js'
import { type Filter, filterName } from '../../../figures/filters.js'
import type { Period } from '../../../figures/period.js'
import { callsShown, usdShown } from '../../../figures/shown.js'
import { wordOf } from '../../../figures/words.js'
import { BulkOverride } from '../../card/bulk-override.js'
import { Card } from '../../card/card.js'
import { change } from '../../parts/change.js'
import { Field } from '../../parts/field.js'
import { Form, textOf } from '../../parts/form.js'
import { Name } from '../../parts/name.js'
import { hasScope } from '../../session/session.js'
import type { Contradiction, Item, Service } from './load.js'

interface DetailProps {
  readonly item: Item
  readonly services: readonly Service[]
  readonly zone: string
  readonly period: Period
  /** Called when something was saved: the queue is read again. */
  readonly onChanged: () => void
}

/** What one item of the queue would change, and the ways to change it. */
export function Detail(props: DetailProps) {
  const { item, services, zone, onChanged } = props
  switch (item.kind) {
    case 'name':
      return <UnknownName {...props} item={item} />
    case 'conflict':
      return <Conflicting {...props} item={item} />
    case 'owner':
      return <Ownerless {...props} item={item} />
    case 'source':
      return <Source {...props} item={item} />
    case 'price':
      return <Unpriced {...props} item={item} />
    case 'call':
      return (
        <>
          <Amount item={item}>
            calls like this one that nobody could name. Giving it to its service is an audit: the next training learns
            whose the others are.
          </Amount>
          <Card id={item.record.id} zone={zone} onChanged={onChanged} />
          <KnownServices services={services} />
        </>
      )
  }
}

type Of<K extends Item['kind']> = Omit<DetailProps, 'item'> & { readonly item: Extract<Item, { kind: K }> }

/** The names to choose from, for inputs with `list="known-services"`. */
const KnownServices = ({ services }: { readonly services: readonly Service[] }) => (
  <datalist id="known-services">
    {services.map(({ id, name }) => (
      <option key={id} value={name} />
    ))}
  </datalist>
)

const Amount = ({ item, children }: { readonly item: Item; readonly children: ComponentChildren }) => (
  <p>
    <span class="strong">{callsShown(item.calls)}</span>, <span class="strong">USD {usdShown(item.cost)}</span>:{' '}
    {children}
  </p>
)

/** What was done, in words: in place of the forms, once it is done. */
function useSaid(onChanged: () => void) {
  const [said, setSaid] = useState('')
  const save = async (method: 'POST' | 'PATCH', path: string, body: object, done: string): Promise<void> => {
    await change(method, path, body)
    setSaid(done)
    onChanged()
  }
  return { save, said: said === '' ? undefined : <p role="status">{said}</p> }
}

/** The team that a service belongs to. */
const OwnerField = ({ label }: { readonly label: string }) => (
  <Field label={label} name="owner" required placeholder="team-…" />
)

function UnknownName({ item, services, onChanged, period }: Of<'name'>) {
  const [service, setService] = useState(item.nearest[0] ?? '')
  const { save, said } = useSaid(onChanged)
  const known = services.find(({ name }) => name === service)
  const span = {
    from: new Date(period.fromMs).toISOString(),
    to: new Date(Math.min(period.toMs, Date.now())).toISOString(),
  }
  const alias = () =>
    save(
      'POST',
      '/api/v1/directory/unknown-names',
      { name: item.name, service, ...span },
      `${item.name} is ${service} from now on. Its calls are being attributed again.`,
    )
  const create = (fields: FormData) => saveOwner(save, item.name, undefined, textOf(fields, 'owner') ?? '')
  if (said !== undefined) return said
  return (
    <>
      <h3>
        <Name>{item.name}</Name>
      </h3>
      <Form
        verb={`Yes, always${known === undefined ? '' : `: it is ${known.name}`}`}
        isDisabled={known === undefined}
        send={alias}
      >
        <label>
          It is another name of
          <input
            value={service}
            required
            list="known-services"
            onInput={({ currentTarget }) => setService(currentTarget.value)}
          />
        </label>
        <KnownServices services={services} />
        {known !== undefined && (
          <Amount item={item}>
            from <Name>{item.name}</Name> to <Name>{known.name}</Name> of <Name>{known.owner}</Name>, and every later
            call that states the name. What people have overridden or disputed stays.
          </Amount>
        )}
      </Form>
      <Form verb="Add the service" isOneOfSeveral send={create}>
        <OwnerField label="No, it is a new service, of" />
      </Form>
    </>
  )
}

/** @param id of the service; undefined: the directory does not have it */
function saveOwner(save: ReturnType<typeof useSaid>['save'], service: string, id: string | undefined, owner: string) {
  const said = `${service} belongs to ${owner} from now on. Calls of the past stay as they are.`
  return id === undefined
    ? save('POST', '/api/v1/directory/services', { name: service, owner }, said)
    : save('PATCH', `/api/v1/directory/services/${id}`, { owner }, said)
}

function Ownerless({ item, services, onChanged }: Of<'owner'>) {
  const { save, said } = useSaid(onChanged)
  const known = services.find(({ name }) => name === item.service)
  if (said !== undefined) return said
  return (
    <>
      <h3>
        <Name>{item.service}</Name>
      </h3>
      <Amount item={item}>proved, and of nobody, since the directory has no owner of this service.</Amount>
      {hasScope('admin:config') && (
        <Form
          verb="Name the owner"
          send={(fields) => saveOwner(save, item.service, known?.id, textOf(fields, 'owner') ?? '')}
        >
          <OwnerField label="It belongs to" />
        </Form>
      )}
      <p>
        <a href={linkTo('explorer', new URLSearchParams(location.search), { 'filter[service][eq]': item.service })}>
          Look at its calls
        </a>
      </p>
    </>
  )
}

function Source({ item, services, onChanged, period }: Of<'source'>) {
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
        Best is to let the source say who calls: a key per service, or a mapping rule on a tag, key alias, team or
        namespace (<code>deploy/docs/mapping-rules.md</code>).{' '}
        <a href={linkTo('explorer', new URLSearchParams(location.search), queryOf(of))}>Look at the calls</a>
      </p>
      <GiveAll filters={of} period={period} services={services} onChanged={onChanged} />
    </>
  )
}

const queryOf = (filters: readonly Filter[]): Readonly<Record<string, string>> =>
  Object.fromEntries(filters.map((filter) => [filterName(filter), filter.value]))

type GiveAllProps = Pick<DetailProps, 'period' | 'services' | 'onChanged'> & { readonly filters: readonly Filter[] }

/** For those who may: all calls of the period that the filters select, for one service. */
function GiveAll({ filters, period, services, onChanged }: GiveAllProps) {
  if (!hasScope('admin:config')) return null
  const within: readonly Filter[] = [
    { field: 'event_time', operator: 'gte', value: new Date(period.fromMs).toISOString() },
    { field: 'event_time', operator: 'lt', value: new Date(period.toMs).toISOString() },
  ]
  return (
    <>
      <h3>Or give all of these calls to one service</h3>
      <KnownServices services={services} />
      <BulkOverride filters={[...filters, ...within]} onChanged={onChanged} />
    </>
  )
}

const CONFLICTS: Readonly<Record<Contradiction, { readonly what: string; readonly todo: string }>> = {
  workload_identity: {
    what: 'state this service, and were made by a workload that the directory gives to another one.',
    todo:
      'Either the workload has moved and its entry in the directory has to change, or the caller states a service ' +
      'that is not its own.',
  },
  exclusive_principal: {
    what: 'are of this service by the key they came with, which is for it alone, and state another one.',
    todo: 'Either the key is used where it should not be, or the caller states the wrong service.',
  },
  misleading_name: {
    what: 'state a name that is that of a cost pool, or that looks like another name.',
    todo: 'The caller should state the name that the directory has.',
  },
  trace: {
    what: 'state no service, and other calls of their traces belong to several.',
    todo: 'No service is guessed for them. The workflow should state its service with each call.',
  },
}

function Conflicting({ item, services, onChanged, period }: Of<'conflict'>) {
  const of: readonly Filter[] = [
    { field: 'contested', operator: 'eq', value: item.by },
    { field: 'service', operator: 'eq', value: item.service },
  ]
  const { what, todo } = CONFLICTS[item.by]
  return (
    <>
      <h3>
        <Name>{item.service}</Name>
      </h3>
      <Amount item={item}>{what}</Amount>
      <p>
        {todo} The card of each call names both sides.{' '}
        <a href={linkTo('explorer', new URLSearchParams(location.search), queryOf(of))}>Look at the calls</a>
      </p>
      <GiveAll filters={of} period={period} services={services} onChanged={onChanged} />
    </>
  )
}

function Unpriced({ item, onChanged }: Of<'price'>) {
  const { save, said } = useSaid(onChanged)
  const setPrice = (fields: FormData) =>
    save(
      'POST',
      '/api/v1/prices',
      {
        provider: item.provider,
        model: item.model,
        usd_per_million: { input_tokens: textOf(fields, 'input'), output_tokens: textOf(fields, 'output') },
        valid_from: new Date().toISOString(),
      },
      'The price is in force for the calls to come. Those of the past stay without one.',
    )
  if (said !== undefined) return said
  return (
    <>
      <h3>
        <Name>{item.model}</Name> of <Name>{item.provider}</Name>
      </h3>
      <p>
        <span class="strong">{callsShown(item.calls)}</span> without a price. Neither the price book nor your own prices
        have the model.
      </p>
      {hasScope('admin:config') && (
        <Form verb="Set the price from now on" send={setPrice}>
          {(['input', 'output'] as const).map((side) => (
            <Field
              key={side}
              label={`USD per million ${side} tokens`}
              name={side}
              required
              inputMode="decimal"
              pattern="\d+(\.\d+)?"
              placeholder="2.50"
            />
          ))}
        </Form>
      )}
    </>
  )
}
