import { promises as dns } from 'node:dns'
import { isIP } from 'node:net'
import type { IsAllowedAddress } from './addresses.js'

/**
 * The part of the SSRF rules that asks a resolver: a host may be called when every address it has is allowed. Asked at
 * registration and again before each delivery, whose connection goes to an address of that very answer.
 */
export interface Guard {
  /** @returns no promise where the answer is there already: the host is an address, or was asked for a moment ago */
  check(hostname: string): Checked | Promise<Checked>
}

export type Checked =
  | { readonly kind: 'allowed'; readonly addresses: readonly string[] }
  /** At least one address is not allowed. */
  | { readonly kind: 'disallowed' }
  /** The resolver knows no address, or did not answer. */
  | { readonly kind: 'unresolved' }

export interface GuardSettings {
  readonly isAllowed: IsAllowedAddress
  /** `address:port` of the resolvers to ask; those of the machine when there is none. */
  readonly resolvers: readonly string[]
  /** Whether names of this machine itself may be tried: only where networks besides the public ones are allowed. */
  readonly takesPrivateNames: boolean
}

const QUERY_TIMEOUT_MS = 1_500
const QUERY_TRIES = 2
/**
 * Whoever asks so soon after a question was sent is given its answer: an endpoint that takes thousands of deliveries a
 * second is not asked about thousands of times. No older than it would be if it came from a resolver that far away.
 */
const SHARED_MS = 20
/** From this age of an answer on the next is asked for while it is still given, so that nobody stands still for it. */
const ASKED_ANEW_MS = 10

/** What `localhost`, and whatever ends in it, stands for: no resolver is asked (RFC 6761 section 6.3). */
const LOOPBACK = ['127.0.0.1', '::1']
const isLocalhost = (hostname: string): boolean => hostname === 'localhost' || hostname.endsWith('.localhost')

export function createGuard({ isAllowed, resolvers, takesPrivateNames }: GuardSettings): Guard {
  // Asks over the network and not by getaddrinfo, whose few threads one slow name server would hold for all.
  const resolver = new dns.Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES })
  if (resolvers.length > 0) resolver.setServers(resolvers)
  const judge = (addresses: readonly string[]): Checked =>
    addresses.every(isAllowed) ? { kind: 'allowed', addresses } : { kind: 'disallowed' }
  // Who allows one of the two means that one: the other is this list's, and no resolver's that could be another's tomorrow.
  const loopback = LOOPBACK.filter(isAllowed)
  const localhost: Checked = loopback.length > 0 ? { kind: 'allowed', addresses: loopback } : { kind: 'disallowed' }

  const answerAbout = async (hostname: string): Promise<Checked> => {
    try {
      const [ipv4, ipv6] = await Promise.all([
        answerOf(resolver.resolve4(hostname)),
        answerOf(resolver.resolve6(hostname)),
      ])
      const addresses = [...ipv4, ...ipv6]
      return addresses.length === 0 ? { kind: 'unresolved' } : judge(addresses)
    } catch {
      // Half an answer is none: the other half might not be allowed.
      return { kind: 'unresolved' }
    }
  }
  const hosts = new Map<string, Host>()
  const ask = (hostname: string, host: Host): Promise<Checked> => {
    const atMs = performance.now()
    host.asking = answerAbout(hostname).then((answer) => {
      host.asking = undefined
      host.last = { atMs, answer }
      const forget = (): void => {
        if (host.last?.atMs === atMs && host.asking === undefined) hosts.delete(hostname)
      }
      setTimeout(forget, Math.max(0, atMs + SHARED_MS - performance.now()))
      return answer
    })
    return host.asking
  }

  return {
    check(hostname) {
      if (isIP(hostname) !== 0) return judge([hostname])
      if (takesPrivateNames && isLocalhost(hostname)) return localhost
      const host = hosts.get(hostname) ?? {}
      const { last, asking } = host
      const ageMs = last === undefined ? Number.POSITIVE_INFINITY : performance.now() - last.atMs
      if (last === undefined || ageMs >= SHARED_MS) {
        hosts.set(hostname, host)
        return asking ?? ask(hostname, host)
      }
      if (ageMs >= ASKED_ANEW_MS && asking === undefined) void ask(hostname, host)
      return last.answer
    },
  }
}

/** What is known of a host. */
interface Host {
  /** The answer that came last, and when its question was sent. */
  last?: { readonly atMs: number; readonly answer: Checked }
  asking?: Promise<Checked> | undefined
}

/** Of one kind there may be none; any other failure counts for the whole. */
async function answerOf(asked: Promise<string[]>): Promise<string[]> {
  try {
    return await asked
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === dns.NODATA || code === dns.NOTFOUND) return []
    throw cause
  }
}
