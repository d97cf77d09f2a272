import { KeyedBudgets } from './keyed-budgets.js'
import type { Budget, RateLimit } from './rate-limits.js'

/** Requests per address to all routes that need no credential. */
const PER_ADDRESS: RateLimit = { perSecond: 50, burst: 200 }
/** About 10 MB. */
const ADDRESSES_MAX = 50_000

/** Budgets per address, for requests before authentication. */
export function addressBudgets(limit: RateLimit = PER_ADDRESS): (address: string, nowMs: number) => Budget {
  const budgets = new KeyedBudgets(limit, ADDRESSES_MAX)
  return (address, nowMs) => budgets.of(networkOf(address), nowMs)
}

/**
 * The network that counts as one address: an IPv4 address, or the first 64 bits of an IPv6 address, which belong to one
 * customer.
 *
 * @param address as `plainAddress` gives it
 */
export const networkOf = (address: string): string =>
  address.includes(':') ? address.split(':').slice(0, 4).join(':') : address

/**
 * Converts an IPv4-mapped IPv6 address to the IPv4 address; others are unchanged.
 *
 * @param address as written by uWebSockets.js: IPv6 without abbreviation
 */
export function plainAddress(address: string): string {
  const mapped = MAPPED_IPV4.exec(address)
  if (mapped === null) return address
  const [high = 0, low = 0] = mapped.slice(1).map((group) => Number.parseInt(group, 16))
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

/** @param address as `plainAddress` gives it */
export const isLoopback = (address: string): boolean => address.startsWith('127.') || LOOPBACK_IPV6.test(address)

const LOOPBACK_IPV6 = /^(?:0{4}:){7}0001$/
const MAPPED_IPV4 = /^(?:0{4}:){5}ffff:([0-9a-f]{4}):([0-9a-f]{4})$/
