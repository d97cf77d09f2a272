import { KeyedBudgets } from './keyed-budgets.js'
import type { Budget, RateLimit } from './rate-limits.js'

/** What one address may ask of the routes that need no credential, together. */
const PER_ADDRESS: RateLimit = { perSecond: 50, burst: 200 }
/** Addresses that are told apart at most: some 10 MB. */
const ADDRESSES_MAX = 50_000

/** The budgets of addresses, for what is asked before anybody is authenticated. */
export function addressBudgets(limit: RateLimit = PER_ADDRESS): (address: string, nowMs: number) => Budget {
  const budgets = new KeyedBudgets(limit, ADDRESSES_MAX)
  return (address, nowMs) => budgets.of(networkOf(address), nowMs)
}

/**
 * What counts as one address: an IPv4 address, and the first 64 bits of an IPv6 address, which one customer has all to
 * itself.
 *
 * @param address as `plainAddress` gives it
 */
export const networkOf = (address: string): string =>
  address.includes(':') ? address.split(':').slice(0, 4).join(':') : address

/**
 * An IPv4 address that was mapped into IPv6 is itself again.
 *
 * @param address as uWebSockets.js writes it: IPv6 in full
 */
export function plainAddress(address: string): string {
  const mapped = MAPPED_IPV4.exec(address)
  if (mapped === null) return address
  const [high = 0, low = 0] = mapped.slice(1).map((group) => Number.parseInt(group, 16))
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

const MAPPED_IPV4 = /^(?:0{4}:){5}ffff:([0-9a-f]{4}):([0-9a-f]{4})$/
