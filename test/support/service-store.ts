/** Direct access to the store of a running service, for facts that no route shows. */
import type { ClickHouseClient } from '@clickhouse/client'
import { connectStore, type StoreConnection } from '../../internal/store/client.js'
import { gatewayEnvironment, type Instance } from './service.js'

export function storeAccountOf(service: Instance): StoreConnection {
  const { ATTRIBUTION_STORE_URL, ATTRIBUTION_STORE_USER, ATTRIBUTION_STORE_PASSWORD, ATTRIBUTION_STORE_DATABASE } =
    gatewayEnvironment(service)
  return {
    url: ATTRIBUTION_STORE_URL ?? '',
    user: ATTRIBUTION_STORE_USER ?? '',
    password: ATTRIBUTION_STORE_PASSWORD ?? '',
    database: ATTRIBUTION_STORE_DATABASE ?? 'attribution',
  }
}

/** The caller closes the client. */
export const storeOf = (service: Instance): ClickHouseClient => connectStore(storeAccountOf(service))
