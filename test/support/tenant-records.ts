/** The record of the test's tenant, on a real broker. */
import { DEFAULT_SETTINGS, type Tenant } from '../../internal/auth/tenant.js'
import type { Broker } from '../../internal/broker/connect.js'
import { mirrorBucket } from '../../internal/broker/mirror.js'
import { bucketRecords, type Records } from '../../internal/broker/records.js'
import { TENANTS } from '../../streams/buckets.js'
import { TENANT } from './scope-keys.js'

export interface TenantRecords {
  readonly tenants: Records<Tenant>
  readonly findTenant: (id: string) => Tenant | undefined
}

/** Creates the tenant unless another gateway of the test did. @param delegation of the new tenant */
export async function tenantRecords(
  broker: Broker,
  delegation: Tenant['settings']['delegation'] = 'any',
): Promise<TenantRecords> {
  const bucket = await broker.bucket(TENANTS)
  const copy = await mirrorBucket<Tenant>(bucket, () => undefined)
  const tenants = bucketRecords<Tenant>(bucket, copy.reached)
  const settings = { ...DEFAULT_SETTINGS, delegation }
  await tenants.createOnce(TENANT, { id: TENANT, name: 'One', created_at: new Date(0).toISOString(), settings })
  return { tenants, findTenant: copy.get }
}
