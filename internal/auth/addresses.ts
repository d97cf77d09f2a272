import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'
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
 * One text per address: IPv6 without abbreviation, as uWebSockets.js writes it, and an IPv4-mapped address as the IPv4
 * address. Other text is unchanged.
 */
export function plainAddress(text: string): string {
  if (!isIPv6(text)) return text
  const address = expanded(text)
  const mapped = MAPPED_IPV4.exec(address)
  if (mapped === null) return address
  const [high = 0, low = 0] = mapped.slice(1).map((group) => Number.parseInt(group, 16))
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

const IPV6_GROUPS = 8

function expanded(ipv6: string): string {
  const [address = ''] = ipv6.split('%')
  const hex = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...parts: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = parts.map(Number)
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
  })
  const [before = [], after = []] = hex.split('::').map((side) => (side === '' ? [] : side.split(':')))
  const missing = Array<string>(IPV6_GROUPS - before.length - after.length).fill('0')
  return [...before, ...missing, ...after].map((group) => group.toLowerCase().padStart(4, '0')).join(':')
}

/** The address of a client, by that of its connection and the header X-Forwarded-For (all of its fields, joined). */
export type ClientAddressOf = (peer: string, forwardedFor: string) => string

/**
 * Of a connection from a trusted proxy, the address that the header names: the last one that is no trusted proxy
 * itself, since each proxy appends the address that it sees, to what anybody may have written.
 *
 * @param networks of the trusted proxies in CIDR notation; none: the connection's address counts
 */
export function clientAddresses(networks: readonly string[]): ClientAddressOf {
  if (networks.length === 0) return (peer) => peer
  const trusted = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    trusted.addSubnet(address, Number(bits), isIPv4(address) ? 'ipv4' : 'ipv6')
  }
  const isTrusted = (address: string): boolean => trusted.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
  return (peer, forwardedFor) => {
    let nearest = peer
    for (const entry of forwardedFor.split(',').reverse()) {
      if (!isTrusted(nearest)) return nearest
      const address = plainAddress(entry.trim().replace(WITH_PORT, '$1$2'))
      // Entries before it are no better.
      if (isIP(address) === 0) return nearest
      // What only this machine may do is judged by the address: no header makes a caller local.
      if (isLoopback(address)) return nearest
      nearest = address
    }
    return nearest
  }
}

/** Some proxies add the port: `192.0.2.7:4711`, `[2001:db8::1]:4711`. */
const WITH_PORT = /^(?:([\d.]+)|\[([^\]]*)\])(?::\d+)?$/

/** @param address as `plainAddress` gives it */
export const isLoopback = (address: string): boolean => address.startsWith('127.') || LOOPBACK_IPV6.test(address)

const LOOPBACK_IPV6 = /^(?:0{4}:){7}0001$/
const MAPPED_IPV4 = /^(?:0{4}:){5}ffff:([0-9a-f]{4}):([0-9a-f]{4})$/
