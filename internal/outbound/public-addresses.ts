import { BlockList, isIPv4, isIPv6 } from 'node:net'
import { parseNetwork } from '../config/networks.js'

/**
 * The addresses that tenants' targets (webhook endpoints, buckets) may have: public ones, and networks that the
 * operator allows in addition (for development and tests). A pure rule over addresses in the form that a resolver or
 * the URL parser writes; any other spelling is refused.
 *
 * IPv6: 2000::/3 except its special-purpose blocks, which excludes mapped, embedded, link-local, multicast and
 * unassigned addresses. IPv4: all except special-purpose blocks (IANA's registries, and the address of Azure's host
 * platform).
 */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '168.63.129.16/32',
] as const
const GLOBAL_IPV6 = ['2000::/3'] as const
/** Teredo, ORCHID, benchmarking and anycast; documentation; 6to4, which embeds an IPv4 address; documentation. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'] as const

export type IsAllowedAddress = (address: string) => boolean

/** @param allowed networks in CIDR notation, allowed besides public addresses; valid by `parseNetwork` */
export function addressRule(allowed: readonly string[] = []): IsAllowedAddress {
  const exceptions = networks(allowed)
  return (address) => {
    if (isIPv4(address)) return !specialIpv4.check(address, 'ipv4') || exceptions.check(address, 'ipv4')
    // A zone names an interface of this machine.
    if (!isIPv6(address) || address.includes('%')) return false
    const isPublic = globalIpv6.check(address, 'ipv6') && !specialIpv6.check(address, 'ipv6')
    return isPublic || (exceptions.check(address, 'ipv6') && !isMapped(address))
  }
}

function networks(texts: readonly string[]): BlockList {
  const list = new BlockList()
  for (const text of texts) {
    const network = parseNetwork(text)
    if (network === undefined) throw new Error(`${text} is not a network`)
    list.addSubnet(network.address, network.bits, isIPv4(network.address) ? 'ipv4' : 'ipv6')
  }
  return list
}

const specialIpv4 = networks(SPECIAL_IPV4)
const globalIpv6 = networks(GLOBAL_IPV6)
const specialIpv6 = networks(SPECIAL_IPV6)
const mapped = networks(['::ffff:0:0/96'])

/**
 * `BlockList` treats an IPv4-mapped IPv6 address as the IPv4 address; an exception for the latter must not allow the
 * former.
 */
const isMapped = (address: string): boolean => mapped.check(address, 'ipv6')
