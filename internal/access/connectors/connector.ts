import type { Scope } from '../../auth/scopes.js'
import type { HealthStatus } from '../../records/connector-health.js'
import type { ResidencyRegion } from '../../residency/residency.js'
import { type StoredClient, storeClientSecret } from '../oauth/clients.js'

export const CONNECTOR_STATUSES = ['active', 'disabled'] as const

/** A partner's system that sends events and reads records for a tenant, as it is kept under its id in the bucket connectors. */
export interface StoredConnector {
  readonly id: string
  readonly tenant_id: string
  readonly name: string
  readonly scopes: readonly Scope[]
  /** Values of `ingestion_layer`: what it may send, and whose records it may read. */
  readonly source_systems: readonly string[]
  /** Where what it reads goes. */
  readonly residency_lane: ResidencyRegion
  readonly status: (typeof CONNECTOR_STATUSES)[number]
  /** How it authenticates; no other record knows this client, so that it ends with the connector. */
  readonly client: Pick<StoredClient, 'id' | 'salt' | 'hash' | 'last_four'>
  readonly health: StoredHealth
  readonly created_at: string
}

export interface StoredHealth {
  readonly status: HealthStatus
  /** Before `since`. */
  readonly was: HealthStatus
  readonly since: string
  readonly reason: string | null
  readonly reported_at: string | null
  /** How often it has changed. */
  readonly changes: number
  /** Whether the change has been published. What is not yet is published before the next change. */
  readonly is_announced: boolean
}

export interface WantedConnector {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly sourceSystems: readonly string[]
  readonly residencyLane: ResidencyRegion
}

/** @param secret of its client, as `formatClientSecret` writes it */
export const storedConnector = (
  ids: { readonly connector: string; readonly client: string },
  tenantId: string,
  { name, scopes, sourceSystems, residencyLane }: WantedConnector,
  secret: string,
  createdAt: string,
): StoredConnector => ({
  id: ids.connector,
  tenant_id: tenantId,
  name,
  scopes,
  source_systems: sourceSystems,
  residency_lane: residencyLane,
  status: 'active',
  client: { id: ids.client, ...storeClientSecret(secret) },
  health: {
    status: 'unknown',
    was: 'unknown',
    since: createdAt,
    reason: null,
    reported_at: null,
    changes: 0,
    is_announced: true,
  },
  created_at: createdAt,
})

/** The client of a connector as the authorization server takes it. */
export const clientOf = ({ tenant_id, name, scopes, status, client, created_at }: StoredConnector): StoredClient => ({
  ...client,
  tenant_id,
  name,
  scopes,
  grant_types: ['client_credentials'],
  redirect_uris: [],
  status,
  created_at,
})

/** With the secret of another time; the one before is good no more. */
export const withSecret = (
  connector: StoredConnector,
  secret: string,
  scopes: readonly Scope[] = connector.scopes,
): StoredConnector => ({
  ...connector,
  scopes,
  client: { id: connector.client.id, ...storeClientSecret(secret) },
})

/** @param at when it is so */
export function withHealth(
  connector: StoredConnector,
  heard: Pick<StoredHealth, 'status' | 'reason' | 'reported_at'>,
  at: string,
): StoredConnector {
  const { health } = connector
  if (health.status === heard.status) return { ...connector, health: { ...health, ...heard } }
  return {
    ...connector,
    health: { ...heard, was: health.status, since: at, changes: health.changes + 1, is_announced: false },
  }
}

/** A report is believed for so long: a connector that has said nothing for a day is not known to be as it said. */
const BELIEVED_MS = 24 * 60 * 60 * 1000

/** Whether what a connector last said of itself is too old to go by. */
export const isHealthLapsed = ({ status, health }: StoredConnector, nowMs: number): boolean =>
  status === 'active' &&
  health.status !== 'unknown' &&
  nowMs - Date.parse(health.reported_at ?? health.since) >= BELIEVED_MS
