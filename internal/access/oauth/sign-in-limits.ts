import { KeyedBudgets } from '../../auth/keyed-budgets.js'
import type { Budget } from '../../auth/rate-limits.js'
import type { Exhausted } from './client-requests.js'

/** Sign-in attempts: failed ones per network, all per person and network, and all per person. */
const FAILURES_PER_NETWORK = { perSecond: 1, burst: 100 } as const
const PER_PERSON_AND_NETWORK = { perSecond: 1 / 30, burst: 10 } as const
const PER_PERSON = { perSecond: 1 / 10, burst: 100 } as const

/** Budgets of each kind. */
const NAMES_MAX = 20_000

/**
 * Limits sign-in attempts. After a success, earlier attempts no longer count against the person. Successes do not use a
 * network's budget: many people may share one.
 */
export function signInLimits() {
  const networks = new KeyedBudgets(FAILURES_PER_NETWORK, NAMES_MAX)
  const pairs = new KeyedBudgets(PER_PERSON_AND_NETWORK, NAMES_MAX)
  const people = new KeyedBudgets(PER_PERSON, NAMES_MAX)
  const pairOf = (network: string, person: string): string => `${network} ${person}`
  const exhaustedOf = (budget: Budget, waitMs: number): Exhausted | undefined =>
    waitMs > 0 ? { budget, waitMs } : undefined
  const take = (budgets: KeyedBudgets, name: string, nowMs: number): Exhausted | undefined => {
    const budget = budgets.of(name, nowMs)
    return exhaustedOf(budget, budget.take(1, nowMs))
  }
  return {
    /** Counts an attempt. @returns the budget that has none left */
    exhausted(network: string, person: string, nowMs: number): Exhausted | undefined {
      const ofNetwork = networks.of(network, nowMs)
      return (
        exhaustedOf(ofNetwork, ofNetwork.waitMs(nowMs)) ??
        take(pairs, pairOf(network, person), nowMs) ??
        take(people, person, nowMs)
      )
    },
    /** For attempts whose person is not known yet: looks at the network alone. */
    exhaustedOf(network: string, nowMs: number): Exhausted | undefined {
      const ofNetwork = networks.of(network, nowMs)
      return exhaustedOf(ofNetwork, ofNetwork.waitMs(nowMs))
    },
    failed(network: string, nowMs: number): void {
      take(networks, network, nowMs)
    },
    succeeded(network: string, person: string): void {
      pairs.forget(pairOf(network, person))
      people.forget(person)
    },
  }
}

export type SignInLimits = ReturnType<typeof signInLimits>
