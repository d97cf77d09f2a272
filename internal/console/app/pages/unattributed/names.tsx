import { useState } from 'preact/hooks'
import { linkTo } from '../../../figures/address.js'
import type { Entry } from '../../answers/answer.js'
import { AnswerForm } from '../../answers/answer-form.js'
import { textOf } from '../../parts/form.js'
import { Name } from '../../parts/name.js'
import { hasScope } from '../../session/session.js'
import type { Service } from './load.js'
import { Amount, Known, type Of, OwnerField } from './parts.js'

/** Names of services that the directory does not know, or knows no owner of. */

const serviceOf =
  (name: string) =>
  (fields: FormData): Entry => ({ service: { name, owner: textOf(fields, 'owner') ?? '' } })

export function UnknownName({ item, services, period, ...rest }: Of<'name'>) {
  const [service, setService] = useState(item.nearest[0] ?? '')
  const known = services.find(({ name }) => name === service)
  const [given, setGiven] = useState<'alias' | 'service' | undefined>()
  const common = (which: 'alias' | 'service') => ({
    ...rest,
    past: period,
    onMoving(isOver: boolean) {
      setGiven(which)
      rest.onMoving(isOver)
    },
  })
  return (
    <>
      <h3>
        <Name>{item.name}</Name>
      </h3>
      <Known services={services} />
      {given !== 'service' && (
        <AnswerForm
          {...common('alias')}
          verb={`Yes, always${known === undefined ? '' : `: it is ${known.name}`}`}
          isDisabled={known === undefined}
          entryOf={() => aliasOf(item.name, known)}
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
          {known !== undefined && (
            <Amount item={item}>
              from <Name>{item.name}</Name> to <Name>{known.name}</Name> of <Name>{known.owner}</Name>, and every later
              call that states the name. What people have overridden or disputed stays.
            </Amount>
          )}
        </AnswerForm>
      )}
      {given !== 'alias' && (
        <AnswerForm {...common('service')} verb="Add the service" isOneOfSeveral entryOf={serviceOf(item.name)}>
          <OwnerField label="No, it is a new service, of" />
          <Amount item={item}>can then be charged to its owner, and every later call that states the name.</Amount>
        </AnswerForm>
      )}
    </>
  )
}

function aliasOf(alias: string, known: Service | undefined): Entry {
  if (known === undefined) throw new Error('Choose a service of the directory.')
  const { name, owner, aliases } = known
  return { service: { name, owner, aliases: [...aliases, alias] } }
}

export function Ownerless({ item, services, period, ...rest }: Of<'owner'>) {
  const known = services.find(({ name }) => name === item.service)
  return (
    <>
      <h3>
        <Name>{item.service}</Name>
      </h3>
      <Amount item={item}>
        {known === undefined
          ? 'proved, and of nobody, since the directory has no owner of this service.'
          : 'proved, and of nobody: they were made before the directory knew the owner of this service.'}
      </Amount>
      {hasScope('admin:config') && (
        <>
          <Known services={services} />
          <AnswerForm
            {...rest}
            past={period}
            verb={known === undefined ? 'Name the owner' : 'Give them to the owner'}
            entryOf={serviceOf(item.service)}
          >
            <OwnerField label="It belongs to" defaultValue={known?.owner} />
          </AnswerForm>
        </>
      )}
      <p>
        <a href={linkTo('explorer', new URLSearchParams(location.search), { 'filter[service][eq]': item.service })}>
          Look at its calls
        </a>
      </p>
    </>
  )
}
