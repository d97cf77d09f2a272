import { KeyedBudgets } from '../../auth/keyed-budgets.js'
import type { Budget } from '../../auth/rate-limits.js'
import type { Exhausted } from './client-requests.js'

/** Attempts to sign in: those from a network that fail, at one person from a network, at one person from anywhere. */
const FAILURES_PER_NETWORK = { perSecond: 1, burst: 100 } as const
const PER_PERSON_AND_NETWORK = { perSecond: 1 / 30, burst: 10 } as const
const PER_PERSON = { perSecond: 1 / 10, burst: 100 } as const

/** Names that are told apart at most, of each kind. */
const NAMES_MAX = 20_000

/**
 * Attempts to sign in, of which those before a success no longer count against the person. Successes take nothing from
 * a network: many people may share one.
 */
export function signInLimits() {
  const networks = new KeyedBudgets(FAILURES_PER_NETWORK, NAMES_MAX)
  const pairs = new KeyedBudgets(PER_PERSON_AND_NETWORK, NAMES_MAX)
  const people = new KeyedBudgets(PER_PERSON, NAMES_MAX)
  const pairOf = (network: string, person: string): string => `${network} ${person}`
  const exhaustedOf = (budget: Budget, waitMs: number): Exhausted | undefined =>
    waitMs > 0 ? { budget, waitMs } : undefined
  const take = (budgets: KeyedBudgets, whom: string, nowMs: number): Exhausted | undefined => {
    const budget = budgets.of(whom, nowMs)
    return exhaustedOf(budget, budget.take(1, nowMs))
  }
  return {
    /** Takes an attempt. @returns what has none left */
    exhausted(network: string, person: string, nowMs: number): Exhausted | undefined {
      const ofNetwork = networks.of(network, nowMs)
      return (
        exhaustedOf(ofNetwork, ofNetwork.waitMs(nowMs)) ??
        take(pairs, pairOf(network, person), nowMs) ??
        take(people, person, nowMs)
      )
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
