import { useRef, useState } from 'preact/hooks'
import { formatQuantity, parseSum, sum } from '../../../../units/quantity.js'
import { type Period, timeShown } from '../../../figures/period.js'
import { callsShown, countShort, decimalShown, decimalsOf, usdShown } from '../../../figures/shown.js'
import { wordOf } from '../../../figures/words.js'
import { setParams } from '../../address/address.js'
import { shownPeriod } from '../../address/period.js'
import { Recent } from '../../answers/recent.js'
import { useAnswer } from '../../api/use-answer.js'
import type { RecordRow } from '../../card/record.js'
import { Name } from '../../parts/name.js'
import { Shown } from '../../parts/states.js'
import { Head } from '../../parts/table.js'
import { hasScope } from '../../session/session.js'
import type { PageProps } from '../page-props.js'
import { Detail } from './detail.js'
import { type Amount, type Contradiction, type Item, LISTED_MAX, loadAmount, loadQueue, type Queue } from './load.js'

/** The queue of what could not be named or priced, by money, and what can be done about each. */
export function Page({ params, zone }: PageProps) {
  const period = shownPeriod(params, zone)
  const key = JSON.stringify([period, zone])
  const answer = useAnswer(key, (signal) => loadQueue(period, zone, signal))
  const [rounds, setRounds] = useState({ amount: 0, queue: 0 })
  // While calls move, the amount alone is read again.
  const amount = useAnswer(rounds.amount === 0 ? '' : key, (signal) => loadAmount(period, zone, signal))
  const moving = (isOver: boolean): void => {
    setRounds(({ amount: before, queue }) => ({ amount: before + 1, queue: isOver ? queue + 1 : queue }))
    amount.reload()
    if (isOver) answer.reload()
  }
  return (
    <Shown answer={answer} what="the queue" placeholder={<div class="placeholder table-place" />}>
      {(queue) => (
        <Listed
          queue={queue}
          amount={amount.isEarlier ? queue : (amount.value ?? queue)}
          period={period}
          zone={zone}
          chosen={params.get('item')}
          round={rounds.queue}
          onMoving={moving}
        />
      )}
    </Shown>
  )
}

interface ListedProps {
  readonly queue: Queue
  readonly amount: Amount
  readonly period: Period
  readonly zone: string
  readonly chosen: string | null
  readonly round: number
  readonly onMoving: (isOver: boolean) => void
}

const KINDS: readonly { readonly kind: Item['kind']; readonly title: string; readonly about: string }[] = [
  {
    kind: 'name',
    title: 'Names that the directory does not know',
    about: 'Calls state a service that nobody has told us of.',
  },
  {
    kind: 'conflict',
    title: 'Facts that contradict each other',
    about: 'A service is named and something else says otherwise, or several are named. Look before it is charged.',
  },
  {
    kind: 'owner',
    title: 'Services without an owner',
    about: 'Their calls have no owner to pay for them, even those in the chargeback file.',
  },
  {
    kind: 'source',
    title: 'Calls that say nothing of who made them',
    about: 'By how they came, and to which provider.',
  },
  {
    kind: 'call',
    title: 'Ask first',
    about: 'One call of each kind whose answer would name the most others. The next training learns from it.',
  },
  { kind: 'price', title: 'Models without a price', about: 'Their cost is not in any total.' },
]

function emptyShown({ ofCalls }: Queue, { label }: Period, isAdmin: boolean): string {
  if (ofCalls === 0) return `No calls in ${label}.`
  return isAdmin ? 'Everything has a name, an owner and a price.' : 'Nothing else lacks an owner or a price.'
}

function Listed({ queue, amount, period, zone, chosen, round, onMoving }: ListedProps) {
  // What was dealt with has left the queue; its outcome stays until another one is chosen.
  const last = useRef<Item | undefined>(undefined)
  last.current =
    queue.items.find(({ key }) => key === chosen) ?? (last.current?.key === chosen ? last.current : undefined)
  const item = last.current
  const names = added(queue.items.filter(({ kind }) => kind === 'name').map(({ cost }) => cost))
  const isAdmin = hasScope('admin:config')
  return (
    <>
      <section class="totals" aria-label="Total" data-unattributed={amount.cost}>
        <div class="total">
          <p class="figure">
            <span class="unit">USD</span> <output>{usdShown(amount.cost)}</output>
          </p>
          <p class="muted">
            of {callsShown(amount.calls)} without a service or an owner, {period.label}
          </p>
          {names !== '0' && (
            <p class="muted">USD {usdShown(names)} more have a name that the directory does not know: provisional.</p>
          )}
        </div>
      </section>
      {!isAdmin && (
        <p class="notice">
          Names and services need the scope <code>admin:config</code>, which you do not have: they are left out.
        </p>
      )}
      {queue.items.length === 0 && <p class="state">{emptyShown(queue, period, isAdmin)}</p>}
      <div class={item === undefined ? 'queue' : 'queue has-chosen'}>
        <nav aria-label="What could not be named">
          {byMoney(queue.items).map(({ kind, title, about, items, cost }) => (
            <section key={kind}>
              <h2>
                {title}
                {kind !== 'price' && <span class="muted"> USD {usdShown(cost)}</span>}
              </h2>
              <p class="muted">{about}</p>
              <Kind items={items} chosen={chosen} zone={zone} />
              {isCut(kind, items) && (
                <p class="muted">The {LISTED_MAX} most costly; others follow as these are answered.</p>
              )}
            </section>
          ))}
        </nav>
        <section class="chosen" aria-label="What can be done" aria-live="polite">
          {item === undefined ? (
            queue.items.length > 0 && <p class="muted">Choose one to see what it would change.</p>
          ) : (
            <Detail
              key={item.key}
              item={item}
              services={queue.services}
              zone={zone}
              period={period}
              ofCalls={queue.ofCalls}
              onMoving={onMoving}
            />
          )}
        </section>
      </div>
      {isAdmin && <Recent zone={zone} round={round} onUndone={() => onMoving(true)} />}
    </>
  )
}

const isCut = (kind: Item['kind'], { length }: readonly Item[]): boolean =>
  (kind === 'name' || kind === 'call') && length === LISTED_MAX

/** The kinds that there are, the most costly first; those of equal cost in the order above. */
const byMoney = (all: readonly Item[]) =>
  KINDS.map((each) => {
    const items = byCost(all.filter(({ kind }) => kind === each.kind))
    return { ...each, items, cost: added(items.map(({ cost }) => cost)) }
  })
    .filter(({ items }) => items.length > 0)
    .sort((one, other) => compareCosts(one.cost, other.cost))

const added = (costs: readonly string[]): string => formatQuantity(sum(costs.map((cost) => parseSum<'USD'>(cost))))

const byCost = (items: readonly Item[]): readonly Item[] =>
  [...items].sort((one, other) => compareCosts(one.cost, other.cost) || other.calls - one.calls)

/** The higher one first. */
function compareCosts(one: string, other: string): number {
  const difference = parseSum(other) - parseSum(one)
  return difference > 0n ? 1 : difference < 0n ? -1 : 0
}

interface KindProps {
  readonly items: readonly Item[]
  readonly chosen: string | null
  readonly zone: string
}

function Kind({ items, chosen, zone }: KindProps) {
  const decimals = decimalsOf(items.map(({ cost }) => cost))
  return (
    <table class="figures">
      <Head titles={['what', 'calls', 'cost USD']} isHidden />
      <tbody>
        {items.map((item) => (
          <tr key={item.key} class={item.key === chosen ? 'current' : undefined}>
            <th scope="row">
              <button
                type="button"
                class="opens"
                aria-expanded={item.key === chosen}
                onClick={() => setParams({ item: item.key === chosen ? '' : item.key }, 'replace')}
              >
                <Title item={item} zone={zone} />
              </button>
            </th>
            <td class="number">{callsShown(item.calls)}</td>
            <td class="number">{isCostKnown(item) ? `USD ${decimalShown(item.cost, decimals)}` : 'not known'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const isCostKnown = (item: Item): boolean => item.kind !== 'price' && !('hasNoPrice' in item && item.hasNoPrice)

/** What sets a call apart from others of its model: kinds of calls differ by size. */
function likeIt({ input_tokens: input, output_tokens: output, event_time }: RecordRow, zone: string): string {
  const size = [input, output].map((tokens) => (tokens === null ? '?' : countShort(tokens))).join(' → ')
  return `${size} tokens, ${timeShown(Date.parse(event_time), zone)}`
}

const CONTRADICTED: Readonly<Record<Contradiction, string>> = {
  workload_identity: 'but the workload belongs to another service',
  exclusive_principal: 'by its key, while the calls state another service',
  misleading_name: 'is the name of a cost pool, or looks like another name',
  trace: 'takes calls whose traces name several services',
}

function Title({ item, zone }: { readonly item: Item; readonly zone: string }) {
  switch (item.kind) {
    case 'name':
      return (
        <>
          <Name>{item.name}</Name>
          {item.nearest[0] !== undefined && (
            <span class="muted">
              {' '}
              is it <Name>{item.nearest[0]}</Name>?
            </span>
          )}
        </>
      )
    case 'conflict':
      return (
        <>
          <Name>{item.service}</Name> <span class="muted">{CONTRADICTED[item.by]}</span>
        </>
      )
    case 'owner':
      return <Name>{item.service}</Name>
    case 'source':
      return (
        <>
          {wordOf(item.pathway)} to <Name>{item.provider}</Name>
        </>
      )
    case 'price':
      return (
        <>
          <Name>{item.model}</Name> <span class="muted">of</span> <Name>{item.provider}</Name>
        </>
      )
    case 'call':
      return (
        <>
          <Name>{item.record.served_model}</Name> <span class="muted">of</span> <Name>{item.record.provider}</Name>
          <span class="muted"> {likeIt(item.record, zone)}</span>
        </>
      )
  }
}
