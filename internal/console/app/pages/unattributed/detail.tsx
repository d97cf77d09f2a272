import { linkTo } from '../../../figures/address.js'
import type { Filter } from '../../../figures/filters.js'
import { Card } from '../../card/card.js'
import { Name } from '../../parts/name.js'
import type { Contradiction } from './load.js'
import { Ownerless, UnknownName } from './names.js'
import { Amount, type DetailProps, Known, type Of } from './parts.js'
import { Unpriced } from './price.js'
import { GiveAll, queryOf, Source } from './source.js'

/** What one item of the queue would change, and the ways to change it. */
export function Detail(props: DetailProps) {
  const { item, services, zone, onMoving } = props
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
            calls like this one that nobody could name. Giving it to its service moves this call, and is an audit: the
            next training learns whose the others are.
          </Amount>
          <Card id={item.record.id} zone={zone} onChanged={() => onMoving(true)} />
          <Known services={services} />
        </>
      )
  }
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

function Conflicting({ item, services, onMoving, period }: Of<'conflict'>) {
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
      <Known services={services} />
      <GiveAll filters={of} period={period} onMoving={onMoving} />
    </>
  )
}
