/** A tenant of the shared instance with something to read: what programs of others are tried on. */
import { type Ask, askAs } from '../ask.js'
import { listedAll } from '../attributed.js'
import { newTenantOfProduct } from '../product.js'
import type { Instance } from '../service.js'

export interface TenantWithRecords extends Instance {
  readonly ask: Ask
}

const CALLS = 60
const SERVICES = ['checkout', 'search', 'support', 'résumé 日本']

/** Its records are readable: of four services, seven people, three models and two months, with one error among them. */
export async function tenantWithRecords(): Promise<TenantWithRecords> {
  const instance = await newTenantOfProduct()
  const ask = askAs(instance.baseUrl, { 'x-api-key': instance.credentials.api_key })
  const calls = Array.from({ length: CALLS }, (_, i) => ({
    attributed_service: SERVICES[i % SERVICES.length],
    attributed_identity: `person-${i % 7}@example.com`,
    requested_model: ['gpt-4o', 'gpt-4o-mini', 'a-model-without-a-price'][i % 3],
    ingestion_timestamp: `2026-${i < CALLS / 2 ? '10' : '11'}-05T10:00:${String(i).padStart(2, '0')}Z`,
    input_tokens: 100 + i,
    output_tokens: 10 + i,
    tags: { team: `'@platform ${i % 2}` },
    ...(i === 0 && { outcome: 'error' }),
  }))
  await listedAll(ask, calls)
  return { ...instance, ask }
}
