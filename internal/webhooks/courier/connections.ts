import { isIP, isIPv4 } from 'node:net'
import { createSecureContext } from 'node:tls'
import buildConnector from 'undici/lib/core/connect.js'
import Client from 'undici/lib/dispatcher/client.js'
import type { Target } from '../../outbound/target-url.js'

/** Kept-alive connections to receivers, each to an address that was checked. */
export interface Connections {
  /**
   * A connection for one request, to one of the endpoint's just resolved and allowed addresses. A free open connection
   * is reused if its peer is still among them; connections to other addresses are closed.
   */
  take(endpointId: string, target: Target, addresses: readonly string[]): Connection
  /** Makes the next `take` try another of the endpoint's addresses. */
  avoid(endpointId: string): void
  /** Closes connections that have been unused for a while. */
  sweep(): void
  close(): Promise<void>
}

/** A connection to one address; a request that is sent before `release` waits for the previous one. */
export interface Connection {
  readonly client: Client
  /** Returns the connection: its user has nothing more to send. */
  release(): void
}

export interface ConnectionSettings {
  /** PEM of certificate authorities that are trusted in addition to the public ones; for development and tests. */
  readonly extraCa: string | undefined
  readonly connectTimeoutMs: number
}

interface Endpoint {
  peer: Peer | undefined
  /** How often `avoid` was called; selects the next address. */
  avoided: number
  usedAt: number
}

/**
 * The connections to one address, as many as were ever in use at the same time. Not an undici pool, which polls all its
 * clients for a free one and queues the requests that it cannot place: that takes a fifth of a request's CPU time.
 */
class Peer {
  readonly address: string
  private readonly open: () => Client
  private readonly connections: Connection[] = []
  private readonly free: Connection[] = []

  constructor(address: string, open: () => Client) {
    this.address = address
    this.open = open
  }

  take(): Connection {
    const free = this.free.pop()
    if (free !== undefined) return free
    const connection = { client: this.open(), release: () => void this.free.push(connection) }
    this.connections.push(connection)
    return connection
  }

  /** Closes each connection once its request is answered. */
  closeWhenIdle(): void {
    for (const { client } of this.connections) client.close().catch(() => undefined)
  }

  async destroy(): Promise<void> {
    await Promise.all(this.connections.map(({ client }) => client.destroy()))
  }
}

const IDLE_MS = 15_000
const UNUSED_MS = 60_000

/** @param rootCertificates PEM of the public authorities */
export function createConnections(
  { extraCa, connectTimeoutMs }: ConnectionSettings,
  rootCertificates: readonly string[],
): Connections {
  const endpoints = new Map<string, Endpoint>()
  // Created once: parsing the certificates for each connection costs more than the connection.
  const secureContext = createSecureContext({
    minVersion: 'TLSv1.2',
    ...(extraCa !== undefined && { ca: [...rootCertificates, extraCa] }),
  })

  const peerAt = (target: Target, address: string): Peer => {
    const connect = buildConnector({ timeout: connectTimeoutMs, secureContext, maxCachedSessions: 2 })
    const servername = isIP(target.hostname) === 0 ? target.hostname : undefined
    const options: Client.Options = {
      // A request that is posted when a response ends (`attempt`) is written at the end of the event-loop turn,
      // together with the turn's other requests, and after a possible close by the peer was read. With 2, each request
      // is written and wakes the peer separately: a seventh more CPU time (measured).
      pipelining: 1,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: 2 * IDLE_MS,
      // Each attempt has its own overall timeout.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: 16 * 1024,
      connect(how, callback) {
        // Connect to the checked address; the certificate must be valid for the name.
        connect({ ...how, hostname: address, ...(servername !== undefined && { servername }) }, (error, socket) => {
          if (error !== null || socket === null) return callback(error ?? new Error('no socket'), null)
          if (socket.remoteAddress !== address) {
            socket.destroy()
            return callback(new Error('connected to an address other than the checked one'), null)
          }
          callback(null, socket)
        })
      },
    }
    return new Peer(address, () => new Client(target.origin, options))
  }
  const forget = (endpoint: Endpoint): void => {
    endpoint.peer?.closeWhenIdle()
    endpoint.peer = undefined
  }

  return {
    take(endpointId, target, addresses) {
      const known = endpoints.get(endpointId)
      const endpoint: Endpoint = known ?? { peer: undefined, avoided: 0, usedAt: 0 }
      if (known === undefined) endpoints.set(endpointId, endpoint)
      endpoint.usedAt = performance.now()
      if (endpoint.peer !== undefined && addresses.includes(endpoint.peer.address)) return endpoint.peer.take()
      forget(endpoint)
      // IPv4 first: many networks still have no IPv6 route.
      const ordered = [...addresses].sort((one, other) => Number(isIPv4(other)) - Number(isIPv4(one)))
      endpoint.peer = peerAt(target, ordered[endpoint.avoided % ordered.length] ?? '')
      return endpoint.peer.take()
    },

    avoid(endpointId) {
      const endpoint = endpoints.get(endpointId)
      if (endpoint === undefined) return
      endpoint.avoided++
      forget(endpoint)
    },

    sweep() {
      const now = performance.now()
      for (const [id, endpoint] of endpoints) {
        if (now - endpoint.usedAt < UNUSED_MS) continue
        forget(endpoint)
        endpoints.delete(id)
      }
    },

    async close() {
      const all = [...endpoints.values()]
      endpoints.clear()
      await Promise.all(all.map(({ peer }) => peer?.destroy()))
    },
  }
}
