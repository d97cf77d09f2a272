import type { KV } from '@nats-io/kv'
import type { Scope } from '../../auth/scopes.js'
import { type WatchedRecords, watchRecords } from '../../broker/watched-records.js'
import type { HealthStatus } from '../../records/connector-health.js'
import type { ResidencyRegion } from '../../residency/residency.js'
import { type StoredClient, storeClientSecret } from '../oauth/clients.js'

export const CONNECTOR_STATUSES = ['active', 'disabled'] as const

/**
 * A partner's system that sends events and reads records for a tenant, stored under its id in the bucket `connectors`.
 */
export interface StoredConnector {
  readonly id: string
  readonly tenant_id: string
  readonly name: string
  readonly scopes: readonly Scope[]
  /** Values of `ingestion_layer` whose events it may send and whose records it may read. */
  readonly source_systems: readonly string[]
  /** The region to which the data that it reads is transferred. */
  readonly residency_lane: ResidencyRegion
  /** False: costs that it states do not count. Absent: they do. */
  readonly trusts_cost?: boolean
  readonly status: (typeof CONNECTOR_STATUSES)[number]
  /** Its credentials. The client is stored nowhere else, so that it is deleted with the connector. */
  readonly client: Pick<StoredClient, 'id' | 'salt' | 'hash' | 'last_four'>
  readonly health: StoredHealth
  readonly created_at: string
}

export interface StoredHealth {
  readonly status: HealthStatus
  /** The status before `since`. */
  readonly was: HealthStatus
  readonly since: string
  readonly reason: string | null
  readonly reported_at: string | null
  /** Number of changes of the status. */
  readonly changes: number
  /** Whether the last change has been published. An unpublished one is published before the next change. */
  readonly is_announced: boolean
}

export interface WantedConnector {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly sourceSystems: readonly string[]
  readonly residencyLane: ResidencyRegion
  readonly trustsCost?: boolean | undefined
}

/** @param secret of its client, as `formatClientSecret` writes it */
export const storedConnector = (
  ids: { readonly connector: string; readonly client: string },
  tenantId: string,
  { name, scopes, sourceSystems, residencyLane, trustsCost = true }: WantedConnector,
  secret: string,
  createdAt: string,
): StoredConnector => ({
  id: ids.connector,
  tenant_id: tenantId,
  name,
  scopes,
  source_systems: sourceSystems,
  residency_lane: residencyLane,
  ...(!trustsCost && { trusts_cost: false }),
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

/** The client of a connector, for the authorization server. */
export const clientOf = ({
  tenant_id,
  name,
  scopes,
  status,
  client,
  trusts_cost = true,
  created_at,
}: StoredConnector): StoredClient => ({
  ...client,
  tenant_id,
  name,
  scopes,
  grant_types: ['client_credentials'],
  redirect_uris: [],
  status,
  ...(!trusts_cost && { trusts_cost }),
  created_at,
})

/** The connector with a new secret, which replaces the old one. */
export const withSecret = (
  connector: StoredConnector,
  secret: string,
  scopes: readonly Scope[] = connector.scopes,
): StoredConnector => ({
  ...connector,
  scopes,
  client: { id: connector.client.id, ...storeClientSecret(secret) },
})

/** @param at when the report was received */
export function withHealth(
  connector: StoredConnector,
  reported: Pick<StoredHealth, 'status' | 'reason' | 'reported_at'>,
  at: string,
): StoredConnector {
  const { health } = connector
  if (health.status === reported.status) return { ...connector, health: { ...health, ...reported } }
  return {
    ...connector,
    health: { ...reported, was: health.status, since: at, changes: health.changes + 1, is_announced: false },
  }
}

/** A report counts for a day. */
const REPORT_VALID_MS = 24 * 60 * 60 * 1000

/** Whether a connector's last report is too old to rely on. */
export const isHealthExpired = ({ status, health }: StoredConnector, nowMs: number): boolean =>
  status === 'active' &&
  health.status !== 'unknown' &&
  nowMs - Date.parse(health.reported_at ?? health.since) >= REPORT_VALID_MS

/** A gateway's copy of all tenants' connectors. */
export interface WatchedConnectors {
  /** By id. */
  readonly connectors: WatchedRecords<StoredConnector>
  /** The connector that a client acts for. */
  readonly withClient: (clientId: string) => StoredConnector | undefined
}

/**
 * @param onLost called once when the watch of the bucket is lost
 * @param onChange called with the id of the client whose connector has changed
 */
export async function watchConnectors(
  bucket: KV,
  onLost: (cause: unknown) => void,
  onChange: (clientId: string) => void,
): Promise<WatchedConnectors> {
  const clientIds = new Map<string, string>()
  const connectorIds = new Map<string, string>()
  const connectors = await watchRecords<StoredConnector>(bucket, onLost, (id, connector) => {
    const clientId = connector?.client.id ?? clientIds.get(id)
    if (clientId === undefined) return
    if (connector === undefined) {
      clientIds.delete(id)
      connectorIds.delete(clientId)
    } else {
      clientIds.set(id, clientId)
      connectorIds.set(clientId, id)
    }
    onChange(clientId)
  })
  return { connectors, withClient: (clientId) => connectors.get(connectorIds.get(clientId) ?? '') }
}
