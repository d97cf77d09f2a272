import { promises as dns } from 'node:dns'
import { isIP } from 'node:net'
import type { IsAllowedAddress } from './public-addresses.js'

/**
 * The SSRF rule that needs a resolver: a host may be called when all its addresses are allowed. Checked at registration
 * and again before each connection, which uses an address of that answer.
 */
export interface Guard {
  /** @returns no promise when the answer is already known: the host is an address, or was resolved a moment ago */
  check(hostname: string): Checked | Promise<Checked>
}

export type Checked =
  | { readonly kind: 'allowed'; readonly addresses: readonly string[] }
  /** At least one address is not allowed. */
  | { readonly kind: 'disallowed' }
  /** The resolver has no address, or did not answer. */
  | { readonly kind: 'unresolved' }

export interface GuardSettings {
  readonly isAllowed: IsAllowedAddress
  /** `address:port` of the resolvers; the system's resolvers when empty. */
  readonly resolvers: readonly string[]
  /** Whether `localhost` may be called: only when the operator allows non-public networks. */
  readonly allowsPrivateNames: boolean
}

const QUERY_TIMEOUT_MS = 1_500
const QUERY_TRIES = 2
/**
 * An answer is reused for this long after its query was sent, so that an endpoint with thousands of deliveries per
 * second does not cause thousands of queries. It is as old as an answer from a resolver with this round-trip time.
 */
const SHARED_MS = 20
/** Above this age the answer is refreshed in the background while in use, so that no delivery waits for it. */
const REFRESH_AFTER_MS = 10

/** Addresses of `localhost` and its subdomains, without asking a resolver (RFC 6761 section 6.3). */
const LOOPBACK = ['127.0.0.1', '::1']
const isLocalhost = (hostname: string): boolean => hostname === 'localhost' || hostname.endsWith('.localhost')

export function createGuard({ isAllowed, resolvers, allowsPrivateNames }: GuardSettings): Guard {
  // Queries over the network instead of getaddrinfo, whose few threads one slow name server would block for all.
  const resolver = new dns.Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES })
  if (resolvers.length > 0) resolver.setServers(resolvers)
  const judge = (addresses: readonly string[]): Checked =>
    addresses.every(isAllowed) ? { kind: 'allowed', addresses } : { kind: 'disallowed' }
  // An operator who allows only one of the two addresses gets that one. No resolver is involved that could return
  // others.
  const loopback = LOOPBACK.filter(isAllowed)
  const localhost: Checked = loopback.length > 0 ? { kind: 'allowed', addresses: loopback } : { kind: 'disallowed' }

  const resolve = async (hostname: string): Promise<Checked> => {
    try {
      const [ipv4, ipv6] = await Promise.all([
        answerOf(resolver.resolve4(hostname)),
        answerOf(resolver.resolve6(hostname)),
      ])
      const addresses = [...ipv4, ...ipv6]
      return addresses.length === 0 ? { kind: 'unresolved' } : judge(addresses)
    } catch {
      // A partial answer is not used: the missing addresses might be disallowed.
      return { kind: 'unresolved' }
    }
  }
  const hosts = new Map<string, Host>()
  const query = (hostname: string, host: Host): Promise<Checked> => {
    const atMs = performance.now()
    host.pending = resolve(hostname).then((answer) => {
      host.pending = undefined
      host.last = { atMs, answer }
      const forget = (): void => {
        if (host.last?.atMs === atMs && host.pending === undefined) hosts.delete(hostname)
      }
      setTimeout(forget, Math.max(0, atMs + SHARED_MS - performance.now()))
      return answer
    })
    return host.pending
  }

  return {
    check(hostname) {
      if (isIP(hostname) !== 0) return judge([hostname])
      if (allowsPrivateNames && isLocalhost(hostname)) return localhost
      const host = hosts.get(hostname) ?? {}
      const { last, pending } = host
      const ageMs = last === undefined ? Number.POSITIVE_INFINITY : performance.now() - last.atMs
      if (last === undefined || ageMs >= SHARED_MS) {
        hosts.set(hostname, host)
        return pending ?? query(hostname, host)
      }
      if (ageMs >= REFRESH_AFTER_MS && pending === undefined) void query(hostname, host)
      return last.answer
    },
  }
}

/** The latest resolution of a host, and the one in flight. */
interface Host {
  /** The latest answer, and when its query was sent. */
  last?: { readonly atMs: number; readonly answer: Checked }
  pending?: Promise<Checked> | undefined
}

/** A host may lack addresses of one family; any other failure fails the whole resolution. */
async function answerOf(query: Promise<string[]>): Promise<string[]> {
  try {
    return await query
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === dns.NODATA || code === dns.NOTFOUND) return []
    throw cause
  }
}
