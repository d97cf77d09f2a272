import type { NatsConnection } from '@nats-io/transport-node'
import { RATES_EVERY_MS, RATES_OF_ALL, ratesSubject } from '../../streams/gateways.js'
import type { Logger } from '../telemetry/log.js'
import { type Budget, type BudgetsCache, RATE_CLASSES, type Sharing } from './rate-limits.js'

/**
 * Several gateways share the same budgets: each publishes every 100 ms how much it has used of them, sooner when that
 * is a relevant part of a burst, and the others charge it to their own copy of the budget. Simultaneous use on two
 * gateways can exceed the burst; the excess is then a debt of the budget, which is repaid before further requests are
 * allowed. Over time the gateways together keep to the sustained rate and the burst. A single gateway counts and
 * publishes nothing.
 */
export interface BudgetExchange {
  /** To be passed to the budgets. */
  readonly sharing: Sharing
  /**
   * Subscribes. To be called before this gateway joins the others, so that it receives what they send to a newcomer.
   *
   * @param budgetsOf budgets with this `sharing`
   */
  listen(budgetsOf: BudgetsCache): void
  /** Publishes from then on, while there are other gateways. */
  follow(members: GatewayMembers): void
  /** Publishes the usage that is not published yet. */
  flush(): void
  /** Publishes the remaining usage, and nothing after it. */
  stop(): void
}

export interface GatewayMembers {
  /** Names of the live gateways. */
  live(): readonly string[]
  onChange(onChange: () => void): void
}

export interface BudgetExchangeDeps {
  readonly connection: NatsConnection
  /** This gateway's name. */
  readonly self: string
  /** Without a broker nothing is published: each copy continues by itself. */
  readonly isBrokerUp: () => boolean
  readonly clock: () => number
  readonly log: Logger
}

/** Unpublished usage of a budget is published soon when it reaches this share of its burst. */
const FLUSH_SHARE = 0.02
/** But not more often than this. */
const FLUSH_SOON_MS = 5
/** Budgets per message: about 80 kB. */
const BUDGETS_MAX = 1_000

/** `given` is usage to charge, `used` is the total usage. */
interface RatesMessage {
  readonly kind: 'given' | 'used'
  readonly budgets: readonly (readonly [tenantId: string, principal: string, rateClass: number, count: number])[]
}

/** A budget, and the usage of it that a message states. */
type Counted = readonly [budget: Budget, count: number]

export function createBudgetExchange(deps: BudgetExchangeDeps): BudgetExchange {
  const { connection, self, isBrokerUp, clock, log } = deps
  let cache: BudgetsCache | undefined
  let unpublished: Budget[] = []
  let others: ReadonlySet<string> = new Set()
  let later: NodeJS.Timeout | undefined
  let soon: NodeJS.Timeout | undefined
  let isStopped = false

  const sharing = {
    isShared: false,
    onTaken(budget: Budget, cost: number): void {
      if (budget.unpublished === 0) unpublished.push(budget)
      budget.unpublished += cost
      later ??= setTimeout(flush, RATES_EVERY_MS)
      if (soon === undefined && budget.unpublished >= budget.limit * FLUSH_SHARE)
        soon = setTimeout(flush, FLUSH_SOON_MS)
    },
  }

  const publish = (kind: RatesMessage['kind'], counted: readonly Counted[]): void => {
    for (const message of messagesOf(kind, counted, cache)) {
      connection.publish(ratesSubject(self), JSON.stringify(message))
    }
  }

  function flush(): void {
    clearTimeout(later)
    clearTimeout(soon)
    later = undefined
    soon = undefined
    const given = unpublished.map((budget) => [budget, budget.unpublished] as const)
    unpublished = []
    for (const [budget] of given) budget.unpublished = 0
    if (sharing.isShared && isBrokerUp()) publish('given', given)
  }

  /** A gateway that has joined, or was disconnected, receives the total usage. */
  const updateMembers = (live: readonly string[]): void => {
    const now = new Set(live.filter((name) => name !== self))
    const hasJoined = [...now].some((name) => !others.has(name))
    others = now
    sharing.isShared = now.size > 0 && !isStopped
    if (!sharing.isShared) flush()
    if (!hasJoined || cache === undefined || !isBrokerUp()) return
    publish('used', usedOf(cache, clock()))
  }

  return {
    sharing,
    listen(budgetsOf) {
      cache = budgetsOf
      connection.subscribe(RATES_OF_ALL, {
        callback: (error, message) => {
          try {
            if (error !== null) throw error
            if (message.subject !== ratesSubject(self)) chargeTo(budgetsOf, message.json(), clock())
          } catch (cause) {
            log.warn({ err: cause }, 'dropped an unreadable budget message of another gateway')
          }
        },
      })
    },
    follow(members) {
      members.onChange(() => updateMembers(members.live()))
      updateMembers(members.live())
    },
    flush,
    stop() {
      flush()
      isStopped = true
      updateMembers([])
    },
  }
}

function* messagesOf(
  kind: RatesMessage['kind'],
  counted: readonly Counted[],
  cache: BudgetsCache | undefined,
): Generator<RatesMessage> {
  for (let from = 0; from < counted.length; from += BUDGETS_MAX) {
    const budgets = counted.slice(from, from + BUDGETS_MAX).flatMap(([budget, count]) => {
      const name = cache?.nameOf(budget)
      return name === undefined
        ? []
        : ([[name.tenantId, name.principal, RATE_CLASSES.indexOf(name.rateClass), count]] as const)
    })
    yield { kind, budgets }
  }
}

function usedOf(cache: BudgetsCache, nowMs: number): Counted[] {
  const used: Counted[] = []
  for (const budget of cache.all()) {
    const count = budget.used(nowMs)
    if (count > 0) used.push([budget, count])
  }
  return used
}

/** Charges what another gateway has stated to this gateway's copies of the budgets. */
function chargeTo(budgetsOf: BudgetsCache, { kind, budgets }: RatesMessage, nowMs: number): void {
  for (const [tenantId, principal, index, count] of budgets) {
    const rateClass = RATE_CLASSES[index]
    if (rateClass === undefined || !(count >= 0) || count === Number.POSITIVE_INFINITY) continue
    const budget = budgetsOf(tenantId, principal)[rateClass]
    if (kind === 'given') budget.charge(count, nowMs)
    else budget.raise(count, nowMs)
  }
}
