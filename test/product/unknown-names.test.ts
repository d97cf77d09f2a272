import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { attributed, attributedAll, type ShownRecord } from '../support/attributed.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** Services that events state and the directory does not contain: listed, suggested, and made aliases. */

let service: Instance
let ask: Ask
const PATH = '/api/v1/directory/unknown-names'

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  await ask('POST', '/api/v1/directory/services', { name: 'checkout', owner: 'team-shop' })
  await ask('POST', '/api/v1/directory/services', { name: 'search-api', owner: 'team-search' })
})

async function until(path: string, shows: (json: ShownRecord) => boolean): Promise<ShownRecord> {
  for (;;) {
    const { json } = await ask('GET', path)
    if (shows(json)) return json
    await sleep(50)
  }
}

test('an unknown name is listed with cost and nearest services; one request aliases and re-attributes', async () => {
  const call = (attributed_service: string, estimated_cost_usd: string) => ({
    attributed_service,
    attributed_identity: 'ada@example.com',
    requested_model: 'in-house',
    estimated_cost_usd,
  })
  const [misspelt] = await attributedAll(ask, [
    call('chekout', '0.5'),
    call('chekout', '0.25'),
    call('search-api-prod', '2'),
    call('checkout', '7'),
    call('mailer', '0.1'),
  ])
  expect(misspelt).toMatchObject({
    service: 'chekout',
    owner: 'ada@example.com',
    interpretation: { evidence_basis: 'service_declared' },
    explanation: { suggested_services: ['checkout'] },
  })

  const listed = await until(PATH, ({ data }) => data.length === 3)
  expect(listed.data).toEqual([
    { name: 'search-api-prod', calls: 1, cost_usd: '2', nearest_services: ['search-api'] },
    { name: 'chekout', calls: 2, cost_usd: '0.75', nearest_services: ['checkout'] },
    { name: 'mailer', calls: 1, cost_usd: '0.1', nearest_services: [] },
  ])
  expect(JSON.stringify(listed)).not.toContain('ada@example.com')
  const first = await ask('GET', `${PATH}?limit=2`)
  const second = await ask('GET', `${PATH}?limit=2&cursor=${first.json.page.next_cursor}`)
  expect([...first.json.data, ...second.json.data]).toEqual(listed.data)

  const key = { 'idempotency-key': randomUUID() }
  const made = await ask('POST', PATH, { name: 'chekout', service: 'checkout' }, key)
  expect(made).toMatchObject({ status: 202, json: { name: 'chekout', service: 'checkout' } })
  expect(made.json.reattribution.id).toMatch(/^rea_/)
  expect((await ask('POST', PATH, { name: 'chekout', service: 'checkout' }, key)).json).toEqual(made.json)

  const corrected = await until(`/v1/attribution/${misspelt.id}`, ({ service: name }) => name === 'checkout')
  expect(corrected).toMatchObject({
    owner: 'team-shop',
    cost_usd: '0.5',
    interpretation: { evidence_basis: 'identity_and_service_resolved', contested: null },
    explanation: { suggested_services: [], evidence: { service_from: 'directory_alias', stated_service: 'chekout' } },
  })
  expect(await attributed(ask, call('chekout', '0.5'))).toMatchObject({ service: 'checkout', owner: 'team-shop' })
  await until(PATH, ({ data }) => data.every(({ name }: { name: string }) => name !== 'chekout'))
})

test('a name cannot become an alias of an unknown service, a second one, or with hidden characters', async () => {
  await ask('POST', PATH, { name: 'serch-api', service: 'search-api' })

  expect(refusalOf(await ask('POST', PATH, { name: 'x', service: 'nowhere' }))).toEqual([422, 'VALIDATION_FAILED'])
  expect(refusalOf(await ask('POST', PATH, { name: 'serch-api', service: 'checkout' }))).toEqual([409, 'CONFLICT'])
  expect(refusalOf(await ask('POST', PATH, { name: 'che\u200bckout', service: 'checkout' }))).toEqual([
    422,
    'VALIDATION_FAILED',
  ])
  expect(refusalOf(await ask('GET', `${PATH}?from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z`))).toEqual([
    400,
    'INVALID_FILTER',
  ])
})
