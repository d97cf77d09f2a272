/** Messages between gateways, over core NATS. Nothing is stored: a gateway that is disconnected misses them. */

/**
 * All gateways subscribe to `gateways.<member>.rates`: what this one has granted from which rate-limit budgets since
 * its last message, or how much of them is used (`internal/auth/budget-exchange.ts`). No reply.
 */
export const ratesSubject = (member: string): string => `gateways.${member}.rates`

/** The rate messages of all gateways. */
export const RATES_OF_ALL = 'gateways.*.rates'

/** How often a gateway publishes its grants, when there are any. */
export const RATES_EVERY_MS = 100
