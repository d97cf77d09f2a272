import { isIP, isIPv4 } from 'node:net'
import { createSecureContext } from 'node:tls'
import { buildConnector, type Dispatcher, Pool } from 'undici'
import type { Target } from '../target-url.js'

/** Kept-alive connections to receivers, each to an address that was checked. */
export interface Connections {
  /**
   * Whoever calls an endpoint at one of the addresses that were found and allowed just now. A connection that is open
   * is used again when its peer is still among them; those to others are closed.
   */
  to(endpointId: string, target: Target, addresses: readonly string[]): Dispatcher
  /** The next call tries another of the endpoint's addresses. */
  avoid(endpointId: string): void
  /** Closes what nobody has used for a while. */
  sweep(): void
  close(): Promise<void>
}

export interface ConnectionSettings {
  /** Connections to an endpoint at most. */
  readonly perEndpoint: number
  /** PEM of certificate authorities that are trusted besides the public ones; for development and tests. */
  readonly extraCa: string | undefined
  readonly connectTimeoutMs: number
}

interface Endpoint {
  readonly origin: string
  readonly pools: Map<string, Pool>
  /** Counts the addresses that were avoided. */
  avoided: number
  usedAt: number
}

const IDLE_MS = 15_000
const UNUSED_MS = 60_000

/** @param rootCertificates PEM of the public authorities */
export function createConnections(
  { perEndpoint, extraCa, connectTimeoutMs }: ConnectionSettings,
  rootCertificates: readonly string[],
): Connections {
  const endpoints = new Map<string, Endpoint>()
  // Made once: reading the certificates for each connection costs more than the connection.
  const secureContext = createSecureContext({
    minVersion: 'TLSv1.2',
    ...(extraCa !== undefined && { ca: [...rootCertificates, extraCa] }),
  })

  const open = (target: Target, address: string): Pool => {
    const connect = buildConnector({ timeout: connectTimeoutMs, secureContext, maxCachedSessions: 2 })
    const servername = isIP(target.hostname) === 0 ? target.hostname : undefined
    return new Pool(target.origin, {
      connections: perEndpoint,
      pipelining: 1,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: 2 * IDLE_MS,
      // Each attempt has its own time limit, over all of it.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: 16 * 1024,
      connect(options, callback) {
        // The address is what is connected to; the name is what the certificate must be good for.
        connect({ ...options, hostname: address, ...(servername !== undefined && { servername }) }, (error, socket) => {
          if (error !== null || socket === null) return callback(error ?? new Error('no socket'), null)
          if (socket.remoteAddress !== address) {
            socket.destroy()
            return callback(new Error('connected to another address than was checked'), null)
          }
          callback(null, socket)
        })
      },
    })
  }
  const forget = (endpoint: Endpoint, address: string): void => {
    const pool = endpoint.pools.get(address)
    endpoint.pools.delete(address)
    pool?.close().catch(() => undefined)
  }

  return {
    to(endpointId, target, addresses) {
      const known = endpoints.get(endpointId)
      const endpoint: Endpoint = known ?? { origin: target.origin, pools: new Map(), avoided: 0, usedAt: 0 }
      if (known === undefined) endpoints.set(endpointId, endpoint)
      endpoint.usedAt = performance.now()
      for (const address of endpoint.pools.keys()) if (!addresses.includes(address)) forget(endpoint, address)
      for (const pool of endpoint.pools.values()) return pool
      // Many networks still lead nowhere over IPv6.
      const ordered = [...addresses].sort((one, other) => Number(isIPv4(other)) - Number(isIPv4(one)))
      const address = ordered[endpoint.avoided % ordered.length] ?? ''
      const pool = open(target, address)
      endpoint.pools.set(address, pool)
      return pool
    },

    avoid(endpointId) {
      const endpoint = endpoints.get(endpointId)
      if (endpoint === undefined) return
      endpoint.avoided++
      for (const address of endpoint.pools.keys()) forget(endpoint, address)
    },

    sweep() {
      const now = performance.now()
      for (const [id, endpoint] of endpoints) {
        if (now - endpoint.usedAt < UNUSED_MS) continue
        for (const address of endpoint.pools.keys()) forget(endpoint, address)
        endpoints.delete(id)
      }
    },

    async close() {
      const pools = [...endpoints.values()].flatMap((endpoint) => [...endpoint.pools.values()])
      endpoints.clear()
      await Promise.all(pools.map((pool) => pool.destroy()))
    },
  }
}
