import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { RATES_EVERY_MS, RATES_OF_ALL, ratesSubject } from '../../streams/gateways.js'
import type { Logger } from '../telemetry/log.js'
import { type Budget, type BudgetsCache, RATE_CLASSES, type Sharing } from './rate-limits.js'

/**
 * Several gateways give from the same budgets: each says every 100 ms what it has given, sooner when that is a part of
 * a burst that matters, and the others take it from their own copy of the budget. What two give at the same moment can
 * go beyond the burst; it is then a debt of the budget, paid back before anything else is given, so that over time the
 * gateways together keep to the sustained rate and the burst. A gateway that is alone counts nothing and says nothing.
 */
export interface BudgetExchange {
  /** To be handed to the budgets. */
  readonly sharing: Sharing
  /**
   * Begins to listen. To be called before this gateway joins the others, so that it hears what they tell a newcomer.
   *
   * @param budgetsOf whose budgets have this `sharing`
   */
  listen(budgetsOf: BudgetsCache): void
  /** Begins to speak, while there are others. */
  follow(members: GatewayMembers): void
  /** Says what has been given and not been said yet. */
  tell(): void
  /** Says what is left to say, and falls silent. */
  stop(): void
}

export interface GatewayMembers {
  /** Names of the live gateways. */
  live(): readonly string[]
  onChange(tell: () => void): void
}

export interface BudgetExchangeDeps {
  readonly connection: NatsConnection
  /** This gateway's name. */
  readonly self: string
  /** Without a broker nothing is said: the copies go on by themselves. */
  readonly isBrokerUp: () => boolean
  readonly clock: () => number
  readonly log: Logger
}

/** What has been given from a budget in secret is told at once when it is this part of its burst. */
const TELLING_SHARE = 0.02
/** But not more often than this. */
const AT_ONCE_EVERY_MS = 5
/** Budgets in one message: some 80 kB. */
const BUDGETS_MAX = 1_000

/** `given` is to be charged, `used` is what is used in all. */
interface RatesMessage {
  readonly kind: 'given' | 'used'
  readonly budgets: readonly (readonly [tenantId: string, principal: string, rateClass: number, count: number])[]
}

export function createBudgetExchange(deps: BudgetExchangeDeps): BudgetExchange {
  const { connection, self, isBrokerUp, clock, log } = deps
  let cache: BudgetsCache | undefined
  let untold: Budget[] = []
  let others: ReadonlySet<string> = new Set()
  let timer: NodeJS.Timeout | undefined
  let soon: NodeJS.Timeout | undefined
  let isStopped = false

  const sharing = {
    isShared: false,
    taken(budget: Budget, cost: number): void {
      if (budget.untold === 0) untold.push(budget)
      budget.untold += cost
      if (soon === undefined && budget.untold >= budget.limit * TELLING_SHARE) soon = setTimeout(tell, AT_ONCE_EVERY_MS)
    },
  }

  const say = (kind: RatesMessage['kind'], counted: readonly (readonly [Budget, number])[]): void => {
    for (let from = 0; from < counted.length; from += BUDGETS_MAX) {
      const budgets = counted.slice(from, from + BUDGETS_MAX).flatMap(([budget, count]) => {
        const name = cache?.nameOf(budget)
        return name === undefined
          ? []
          : ([[name.tenantId, name.principal, RATE_CLASSES.indexOf(name.rateClass), count]] as const)
      })
      const message: RatesMessage = { kind, budgets }
      connection.publish(ratesSubject(self), JSON.stringify(message))
    }
  }

  function tell(): void {
    clearTimeout(soon)
    soon = undefined
    const given = untold.map((budget) => [budget, budget.untold] as const)
    untold = []
    for (const [budget] of given) budget.untold = 0
    if (sharing.isShared && isBrokerUp()) say('given', given)
  }

  /** Who has just come, or was out of hearing, is told what is used. */
  const look = (live: readonly string[]): void => {
    const now = new Set(live.filter((name) => name !== self))
    const hasCome = [...now].some((name) => !others.has(name))
    others = now
    sharing.isShared = now.size > 0 && !isStopped
    clearInterval(timer)
    timer = sharing.isShared ? setInterval(tell, RATES_EVERY_MS) : undefined
    if (!sharing.isShared) tell()
    if (!hasCome || cache === undefined || !isBrokerUp()) return
    const nowMs = clock()
    const used: [Budget, number][] = []
    for (const budget of cache.all()) {
      const count = budget.used(nowMs)
      if (count > 0) used.push([budget, count])
    }
    say('used', used)
  }

  const hear = (message: Msg, budgetsOf: BudgetsCache): void => {
    if (message.subject === ratesSubject(self)) return
    const nowMs = clock()
    const { kind, budgets } = message.json<RatesMessage>()
    for (const [tenantId, principal, index, count] of budgets) {
      const rateClass = RATE_CLASSES[index]
      if (rateClass === undefined || !(count >= 0) || count === Number.POSITIVE_INFINITY) continue
      const budget = budgetsOf(tenantId, principal)[rateClass]
      if (kind === 'given') budget.charge(count, nowMs)
      else budget.raise(count, nowMs)
    }
  }

  return {
    sharing,
    listen(budgetsOf) {
      cache = budgetsOf
      connection.subscribe(RATES_OF_ALL, {
        callback: (error, message) => {
          try {
            if (error !== null) throw error
            hear(message, budgetsOf)
          } catch (cause) {
            log.warn({ err: cause }, 'what another gateway has given could not be read')
          }
        },
      })
    },
    follow(members) {
      members.onChange(() => look(members.live()))
      look(members.live())
    },
    tell,
    stop() {
      tell()
      isStopped = true
      look([])
    },
  }
}
