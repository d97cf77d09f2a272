/**
 * Evidence cards of a tenant of the shared instance whose directory, prices and pools are known, and of one that is
 * strict. Every record that a file meets is checked at its end.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Broker } from '../../internal/broker/connect.js'
import { type Ask, askAs } from './ask.js'
import { attributed, type ShownRecord } from './attributed.js'
import { faultsOf } from './by-hand.js'
import { addTenant, connectTo, untilKnown } from './instance.js'
import { newTenantOfProduct } from './product.js'
import { atEnd } from './run/at-end.js'
import type { Instance } from './service.js'

export interface Cards {
  readonly service: Instance
  readonly broker: Broker
  readonly ask: Ask
  /** A tenant that takes a service only from its directory, names nobody by identity alone, and stays in a region. */
  readonly strict: Ask
  /** The record of a new call, of `ask` unless another asker is given. */
  readonly recordOf: (stated: object, as?: Ask) => Promise<ShownRecord>
  readonly shownAgain: (id: string, shows?: (record: ShownRecord) => boolean) => Promise<ShownRecord>
}

/** @param met takes every record that is met */
export async function openCards(met: ShownRecord[]): Promise<Cards> {
  const service = await newTenantOfProduct()
  const broker = await connectTo(service)
  atEnd(() => broker.close())
  const ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  const settings = {
    require_directory: true,
    owner_fallback: 'unassigned',
    residency_region: 'eu-central-1',
    stage_b_enabled: false,
  } as const
  const { apiKey } = await addTenant(broker, service, settings)
  await untilKnown(service.baseUrl, apiKey)
  const strict = askAs(service.baseUrl, { 'x-api-key': apiKey })
  await declare(ask, strict)
  return {
    service,
    broker,
    ask,
    strict,
    async recordOf(stated, as = ask) {
      const record = await attributed(as, { ...now(), ...stated })
      met.push(record)
      return record
    },
    async shownAgain(id, shows = () => true) {
      for (;;) {
        const { json } = await ask('GET', `/v1/attribution/${id}`)
        if (shows(json)) {
          met.push(json)
          return json
        }
        await sleep(20)
      }
    },
  }
}

async function declare(ask: Ask, strict: Ask): Promise<void> {
  const services = '/api/v1/directory/services'
  await ask('POST', services, { name: 'checkout', owner: 'team-shop', aliases: ['checkout-v2'] })
  await strict('POST', services, { name: 'checkout', owner: 'team-shop' })
  await ask('POST', '/api/v1/directory/identities', { name: 'bot-7', owner: 'team-bots', service: 'crawler' })
  await ask('POST', '/api/v1/directory/identities', { name: 'ada', owner: 'team-ada' })
  await strict('POST', '/api/v1/pools', {
    name: 'shared-proxy',
    owner: 'team-platform',
    rules: [{ ingestion_layer: 'proxy' }],
  })
  await ask('POST', '/api/v1/prices', {
    provider: 'mistral',
    model: 'mistral-large-latest',
    valid_from: '2026-01-01T00:00:00Z',
    usd_per_million: { input_tokens: '1.25', output_tokens: '3.333333' },
  })
  // All of them have come to the attributor when the last ones have.
  await until(ask, { attributed_identity: 'bot-7' }, ({ service: name }) => name === 'crawler')
  await until(strict, { ingestion_layer: 'proxy' }, ({ service: name }) => name === 'shared-proxy')
  await until(ask, MISTRAL, ({ cost_basis }) => cost_basis === 'tenant_price')
}

export const TOKENS = { input_tokens: 1200, output_tokens: 250 }
export const MISTRAL = { ...TOKENS, provider: 'mistral', requested_model: 'mistral-large-latest' }
export const SERVED = { attributed_service: 'checkout-v2' }
export const now = () => ({ ...TOKENS, ingestion_timestamp: new Date().toISOString() })

export async function until(as: Ask, call: object, shows: (record: ShownRecord) => boolean): Promise<void> {
  for (const end = Date.now() + 120_000; !shows(await attributed(as, { ...call })); )
    expect(Date.now()).toBeLessThan(end)
}

export const card = (evidence_basis: string, confidence: number, export_eligibility = 'eligible') => ({
  interpretation: { evidence_basis, confidence, export_eligibility },
})
export const isOverridden = ({ output_state }: ShownRecord): boolean => output_state === 'overridden'

/** @param lists a name, a closed list, and the value of it that a record shows */
export function describeAllMet(
  met: readonly ShownRecord[],
  lists: readonly (readonly [string, readonly string[], (record: ShownRecord) => string])[],
): void {
  describe('of all records that were met', () => {
    test('every number of every record matches a calculation by hand', () => {
      expect(met.flatMap(faultsOf)).toEqual([])
    })

    test('each summary says who it is attributed to, and whether it may be charged back', () => {
      for (const { service: name, owner, interpretation, explanation } of met) {
        expect(explanation.summary).toContain(JSON.stringify(name === 'unassigned' ? owner : name))
        expect(/may be charged back/.test(explanation.summary)).toBe(interpretation.export_eligibility === 'eligible')
      }
    })

    test.each(lists)('the records show every %s of its closed list, and no other', (_, all, shownOf) => {
      expect([...new Set(met.map(shownOf))].sort()).toEqual([...all].sort())
    })
  })
}
