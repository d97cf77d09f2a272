import { beforeAll, expect, test } from 'vitest'
import { type Ask, type Asked, askAs, refusalOf } from '../support/ask.js'
import { attributed, attributedAll, untilAttributed } from '../support/attributed.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** Mapping rules: what they decide, what they would change in the past, and changing it. */

let service: Instance
let ask: Ask
let askAsGateway: Ask
const PATH = '/api/v1/mapping-rules'
const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 60 * 60 * 1_000).toISOString()

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  await ask('POST', '/api/v1/directory/services', { name: 'checkout', owner: 'team-shop' })
  const key = { name: 'litellm', scopes: ['read:attribution'], is_gateway: true }
  const { json } = await ask('POST', '/api/v1/api-keys', key)
  askAsGateway = askAs(service.baseUrl, { 'x-api-key': json.secret })
})

/** A request's job once it has ended: the answer has it as far as it came within seconds. */
async function ended(asked: Promise<Asked>): Promise<Asked['json']> {
  const { status, json: started } = await asked
  expect(status, JSON.stringify(started)).toBe(started.status === 'running' ? 202 : 200)
  let job = started
  while (job.status === 'running') job = (await ask('GET', `${PATH}/jobs/${started.id}`)).json
  return job
}

const byRule = (id: string) => ({
  interpretation: { stage_origin: 'stage_a', evidence_basis: 'mapping_rule', contested: null },
  explanation: { evidence: { mapping_rule: { id } } },
})

test('a rule is tried out on the past, saved, decides later calls, and is applied to the past', async () => {
  await ask('PATCH', '/api/v1/settings', { dimensions: [{ key: 'cost_center', personal: false }] })
  const call = {
    tags: { key_alias: 'shop-prod', team: 'shop' },
    requested_model: 'in-house',
    ingestion_timestamp: hoursAgo(24),
    estimated_cost_usd: '0.5',
  }
  const past = await attributedAll(askAsGateway, [
    call,
    { ...call, attributed_service: 'shop-prod', estimated_cost_usd: '0.25' },
    { ...call, attributed_service: 'checkout' },
    { ...call, tags: { key_alias: 'other' } },
  ])
  const rule = {
    name: 'keys of the shop',
    when: [{ field: 'key_alias', match: 'prefix', value: 'shop-' }],
    set: { service: 'checkout', tags: { cost_center: '4711' } },
  }

  const tried = await ended(ask('POST', `${PATH}/dry-run`, { days: 7, rule }))
  expect(tried).toMatchObject({ status: 'done', dry_run: true, records: 2, cost_usd: '0.75' })
  const to = { to_service: 'checkout', to_owner: 'team-shop', records: 1 }
  expect(tried.moves).toEqual([
    { from_service: 'unallocated', from_owner: 'unallocated', ...to, cost_usd: '0.5' },
    { from_service: 'shop-prod', from_owner: 'unassigned', ...to, cost_usd: '0.25' },
  ])
  expect((await ask('GET', `${PATH}/jobs/${tried.id}`)).json).toEqual(tried)
  expect((await ask('GET', PATH)).json.data).toEqual([])

  const made = await ask('POST', PATH, rule)
  expect(made).toMatchObject({ status: 201, json: { version: 1, priority: 100, from: null, to: null } })
  const { id } = made.json
  const record = await untilAttributed(askAsGateway, call, ({ service: name }) => name === 'checkout')
  expect(record).toMatchObject({ ...byRule(id), owner: 'team-shop', tags: { cost_center: '4711' } })
  expect(record.interpretation).toMatchObject({ confidence: 0.9, export_eligibility: 'eligible' })
  expect(record.explanation.summary).toContain('mapping rule "keys of the shop"')
  expect(record.explanation.summary).toContain('whose key alias begins with "shop-"')
  expect((await attributed(ask, call)).interpretation).toMatchObject({
    evidence_basis: 'mapping_rule',
    confidence: 0.7,
    export_eligibility: 'below_floor',
  })
  expect((await ask('GET', `/v1/attribution/${past[0].id}`)).json).toMatchObject({ service: 'unallocated' })

  const { from } = tried
  const apply = () => ended(ask('POST', `${PATH}/apply`, { from, rule: id }))
  const applied = await apply()
  expect(applied).toMatchObject({ status: 'done', dry_run: false, rule: id })
  expect(applied.moves).toEqual(expect.arrayContaining([tried.moves[1]]))
  expect(await apply()).toMatchObject({ records: 0, cost_usd: '0' })
  const now = async (i: number) => (await ask('GET', `/v1/attribution/${past[i].id}`)).json
  expect(await now(0)).toMatchObject({
    ...byRule(id),
    service: 'checkout',
    cost_usd: '0.5',
    tags: { cost_center: '4711' },
  })
  expect(await now(1)).toMatchObject({
    service: 'checkout',
    explanation: { evidence: { stated_service: 'shop-prod' } },
  })
  expect((await now(2)).interpretation).toMatchObject({ evidence_basis: 'service_resolved' })
  expect(await now(3)).toMatchObject({ service: 'unallocated' })

  // Without the rule all of it would go back, and does.
  const without = await ended(ask('POST', `${PATH}/dry-run`, { replaces: id }))
  expect(without.records).toBeGreaterThanOrEqual(4)
  expect((await ask('DELETE', `${PATH}/${id}`)).status).toBe(204)
  const { records, cost_usd, moves } = without
  expect(await apply()).toMatchObject({ records, cost_usd, moves })
  expect(await now(0)).toMatchObject({ service: 'unallocated', tags: { cost_center: null } })
})

test('a rule that changes from a day on keeps the days before; rules are listed as they are tried', async () => {
  const fields = {
    name: 'agents',
    priority: 7,
    when: [{ field: 'user_agent', match: 'glob', value: 'claude-code/*' }],
    set: { service: 'developer-tools', owner: 'team-platform' },
  }
  const { json: made } = await ask('POST', PATH, fields)
  await ask('POST', PATH, { ...fields, name: 'zz', priority: 3 })
  const at = hoursAgo(1)
  const changed = await ask('PATCH', `${PATH}/${made.id}`, { from: at, priority: 1, set: { service: 'agents' } })
  expect(changed).toMatchObject({ status: 200, json: { version: 2, from: at, priority: 1 } })
  expect(changed.json.versions).toHaveLength(2)
  const listed = (await ask('GET', PATH)).json.data.map(({ name }: { name: string }) => name)
  expect(listed.slice(0, 2)).toEqual(['agents', 'zz'])

  const call = { tags: { 'caller.user-agent': 'Claude-Code/2.1' }, ingestion_timestamp: hoursAgo(0) }
  const late = { ...call, ingestion_timestamp: hoursAgo(2) }
  await untilAttributed(askAsGateway, call, ({ service: name }) => name === 'agents')
  expect(await attributed(askAsGateway, late)).toMatchObject({ service: 'developer-tools', owner: 'team-platform' })
  expect((await attributed(askAsGateway, call)).interpretation).toMatchObject({ confidence: 0.7 })
})

test('a rule that cannot hold is refused', async () => {
  const when = [{ field: 'team', match: 'exact', value: 'x' }]
  const set = { service: 'x' }
  await ask('POST', '/api/v1/pools', { name: 'leftovers', owner: 'finance', rules: [{ provider: 'x' }] })
  const refused = async (body: unknown, path = PATH) => refusalOf(await ask('POST', path, body))

  expect(await refused({ name: 'a', when: [], set })).toEqual([422, 'VALIDATION_FAILED'])
  expect(await refused({ name: 'a', when, set: {} })).toEqual([422, 'VALIDATION_FAILED'])
  expect(await refused({ name: 'a', when: [{ ...when[0], match: 'regex' }], set })).toEqual([422, 'VALIDATION_FAILED'])
  expect(await refused({ name: 'a', when: [{ ...when[0], field: 'tag' }], set })).toEqual([422, 'VALIDATION_FAILED'])
  expect(await refused({ name: 'a', when: [{ ...when[0], key: 'k' }], set })).toEqual([422, 'VALIDATION_FAILED'])
  const period = { from: '2026-11-02T00:00:00Z', to: '2026-11-01T00:00:00Z' }
  expect(await refused({ name: 'a', when, set, ...period })).toEqual([422, 'VALIDATION_FAILED'])
  expect(await refused({ name: 'a', when, set: { service: 'leftovers' } })).toEqual([409, 'CONFLICT'])
  expect(await refused({ days: 1 }, `${PATH}/dry-run`)).toEqual([422, 'VALIDATION_FAILED'])
  expect(await refused({ replaces: 'mrl_0' }, `${PATH}/dry-run`)).toEqual([404, 'NOT_FOUND'])
  expect(await refused({ from: period.from, to: period.to }, `${PATH}/apply`)).toEqual([422, 'VALIDATION_FAILED'])
  const other = await newTenantOfProduct()
  const theirs = askAs(other.baseUrl, { 'x-api-key': other.credentials.api_key })
  const { json } = await theirs('POST', PATH, { name: 'a', when, set })
  expect(await refused({ replaces: json.id }, `${PATH}/dry-run`)).toEqual([403, 'TENANT_MISMATCH'])
  expect(refusalOf(await ask('GET', `${PATH}/${json.id}`))).toEqual([403, 'TENANT_MISMATCH'])
})
