import type { KV } from '@nats-io/kv'
import { type WatchedRecords, watchRecords } from '../../broker/watched-records.js'
import type { StoredConnector } from './connector.js'

/** A gateway's copy of all tenants' connectors. */
export interface OpenConnectors {
  /** By id. */
  readonly connectors: WatchedRecords<StoredConnector>
  /** The connector that a client acts for. */
  readonly withClient: (clientId: string) => StoredConnector | undefined
}

/**
 * @param lost called once when the watch of the bucket is lost
 * @param onChange called with the id of the client whose connector has changed
 */
export async function openConnectors(
  bucket: KV,
  onLost: (cause: unknown) => void,
  onChange: (clientId: string) => void,
): Promise<OpenConnectors> {
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
