import { isIP, isIPv4 } from 'node:net'
import { createSecureContext } from 'node:tls'
import { buildConnector, Client } from 'undici'
import type { Target } from '../target-url.js'

/** Kept-alive connections to receivers, each to an address that was checked. */
export interface Connections {
  /**
   * A connection to an endpoint at one of the addresses that were found and allowed just now, for one request. One that
   * is open and free is used again when its peer is still among them; those to others are closed.
   */
  take(endpointId: string, target: Target, addresses: readonly string[]): Connection
  /** The next call tries another of the endpoint's addresses. */
  avoid(endpointId: string): void
  /** Closes what nobody has used for a while. */
  sweep(): void
  close(): Promise<void>
}

/** One to an address; what is sent over it before it is released waits for it. */
export interface Connection {
  readonly client: Client
  /** Whoever took it has no more to send. */
  release(): void
}

export interface ConnectionSettings {
  /** PEM of certificate authorities that are trusted besides the public ones; for development and tests. */
  readonly extraCa: string | undefined
  readonly connectTimeoutMs: number
}

interface Endpoint {
  peer: Peer | undefined
  /** Counts the addresses that were avoided. */
  avoided: number
  usedAt: number
}

/**
 * The connections to one address: as many as have been in use at once. Not a pool of undici, which asks each of its
 * clients whether it is free, and keeps what it cannot place until one says so: a fifth of a request's processor time.
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

  /** Closes each when its request is answered. */
  leave(): void {
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
  // Made once: reading the certificates for each connection costs more than the connection.
  const secureContext = createSecureContext({
    minVersion: 'TLSv1.2',
    ...(extraCa !== undefined && { ca: [...rootCertificates, extraCa] }),
  })

  const peerAt = (target: Target, address: string): Peer => {
    const connect = buildConnector({ timeout: connectTimeoutMs, secureContext, maxCachedSessions: 2 })
    const servername = isIP(target.hostname) === 0 ? target.hostname : undefined
    const options: Client.Options = {
      // What is sent while an answer ends (`attempt`) leaves at the end of the loop's turn, with all others of that turn,
      // and behind what the peer may say at once: that it closes. With 2 each leaves by itself and wakes the peer for
      // itself: a seventh more processor time (measured).
      pipelining: 1,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: 2 * IDLE_MS,
      // Each attempt has its own time limit, over all of it.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: 16 * 1024,
      connect(how, callback) {
        // The address is what is connected to; the name is what the certificate must be good for.
        connect({ ...how, hostname: address, ...(servername !== undefined && { servername }) }, (error, socket) => {
          if (error !== null || socket === null) return callback(error ?? new Error('no socket'), null)
          if (socket.remoteAddress !== address) {
            socket.destroy()
            return callback(new Error('connected to another address than was checked'), null)
          }
          callback(null, socket)
        })
      },
    }
    return new Peer(address, () => new Client(target.origin, options))
  }
  const forget = (endpoint: Endpoint): void => {
    endpoint.peer?.leave()
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
      // Many networks still lead nowhere over IPv6.
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
