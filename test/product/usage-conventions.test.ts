import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { type Ask, type Asked, askAs } from '../support/ask.js'
import type { ShownRecord } from '../support/attributed.js'
import { tracesJson } from '../support/otlp.js'
import { intakeOfProduct, newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** A sender whose counts can be read in two ways: its records wait until somebody says how it counts. */

let service: Instance
let ask: Ask
const PATH = '/api/v1/usage-conventions'
const HOUR_AGO_MS = Date.now() - 3_600_000
const SCOPE = 'acme.llm.tracer'

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  await ask('POST', '/api/v1/directory/services', { name: 'shop', owner: 'team-shop' })
})

/** 1,000 tokens of input and 200 of the cache, which nothing places: 0.00396 USD, or 0.00456 USD. */
async function send(id: string, scope = SCOPE): Promise<void> {
  const span = {
    traceId: randomBytes(16).toString('hex'),
    startMs: HOUR_AGO_MS,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.request.model': 'claude-sonnet-4-5',
      'gen_ai.response.id': id,
      'gen_ai.usage.input_tokens': 1_000,
      'gen_ai.usage.output_tokens': 100,
      'gen_ai.usage.cache_read.input_tokens': 200,
    },
  }
  const answer = await fetch(`${intakeOfProduct()}/v1/traces`, {
    method: 'POST',
    body: JSON.stringify(tracesJson([span], { resource: { 'service.name': 'shop' }, scope })),
    headers: { authorization: `Bearer ${service.credentials.api_key}`, 'content-type': 'application/json' },
  })
  expect(answer.status).toBe(200)
}

/** The record of a call, once it fits. */
async function recordOf(id: string, fits: (record: ShownRecord) => boolean = () => true): Promise<ShownRecord> {
  for (;;) {
    for (const { id: record } of (await ask('GET', '/v1/attribution?limit=100')).json.data) {
      const { json } = await ask('GET', `/v1/attribution/${record}`)
      if (json.explanation?.source.response_id === id && fits(json)) return json
    }
    await sleep(50)
  }
}

async function ended(asked: Promise<Asked>): Promise<Asked['json']> {
  const { status, json: started } = await asked
  expect(status, JSON.stringify(started)).toBe(started.status === 'running' ? 202 : 200)
  let job = started
  while (job.status === 'running') job = (await ask('GET', `${PATH}/jobs/${started.id}`)).json
  return job
}

/** The manifest of a chargeback file with everything. */
async function exported(): Promise<ShownRecord> {
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
  const period = { from: day(HOUR_AGO_MS), to: day(Date.now()) }
  const { json } = await ask('POST', '/v1/exports/focus', { format: 'focus', period })
  let job = (await ask('GET', json.status_url)).json
  while (job.status === 'queued' || job.status === 'running') {
    await sleep(50)
    job = (await ask('GET', json.status_url)).json
  }
  return (await fetch(job.manifest_url)).json()
}

test('ambiguous calls are kept out of chargeback until a convention says how their sender counts', async () => {
  await send('msg_1')
  await send('msg_2', 'other.tracer')
  await recordOf('msg_2')
  const ambiguous = await recordOf('msg_1')
  expect(ambiguous).toMatchObject({
    service: 'shop',
    cost_usd: '0.00396',
    usage_basis: 'ambiguous',
    interpretation: { export_eligibility: 'ambiguous_usage' },
  })
  expect(ambiguous.explanation.cost.readings).toEqual([
    { input_tokens: 1_000, output_tokens: 100, cost_usd: '0.00396' },
    { input_tokens: 1_200, output_tokens: 100, cost_usd: '0.00456' },
  ])
  const before = await exported()
  expect(before.exported).toMatchObject({ count: 0 })
  expect(before.left_out).toEqual([{ reason: 'ambiguous_usage', count: 2, cost_usd: '0.00792' }])

  const convention = { sender: SCOPE, provider: 'anthropic', cache: 'apart', valid_from: '2026-01-01T00:00:00Z' }
  const tried = await ended(ask('POST', `${PATH}/dry-run`, { days: 7, convention }))
  expect(tried).toMatchObject({ dry_run: true, seen: 2, records: 1, cost_usd: '0.0006', ambiguous: 1 })
  expect((await recordOf('msg_1')).usage_basis).toBe('ambiguous')

  const made = await ask('POST', PATH, convention)
  expect(made.status).toBe(201)
  const read = {
    input_tokens: 1_200,
    cost_usd: '0.00456',
    usage_basis: 'reported',
    interpretation: { export_eligibility: 'eligible' },
  }
  const applied = await ended(ask('POST', `${PATH}/apply`, { from: new Date(HOUR_AGO_MS - 1).toISOString() }))
  expect(applied).toMatchObject({ dry_run: false, records: 1, cost_usd: '0.0006', ambiguous: 1 })
  const old = await recordOf('msg_1', ({ usage_basis }) => usage_basis === 'reported')
  expect(old).toMatchObject({ ...read, explanation: { cost: { total_usd: '0.00456', readings: [] } } })
  expect(old.explanation.cost.assumptions).toContain(
    `The counts were read by the usage convention ${made.json.id} for "${SCOPE}": cache apart from the input.`,
  )
  expect(old.explanation.history).toMatchObject([{ cost_usd: '0.00396', ended_by: { change: 'revaluation' } }])
  await send('msg_3')
  expect(await recordOf('msg_3')).toMatchObject(read)
  expect((await recordOf('msg_2')).usage_basis).toBe('ambiguous')

  const after = await exported()
  expect(after.exported).toMatchObject({ count: 2, cost_usd: '0.00912' })
  expect(after.left_out).toEqual([{ reason: 'ambiguous_usage', count: 1, cost_usd: '0.00396' }])

  const { id } = made.json
  const without = await ended(ask('POST', `${PATH}/dry-run`, { replaces: id }))
  expect(without).toMatchObject({ records: 2, cost_usd: '-0.0012', ambiguous: 3 })
  const nobodys = `ucv_${id.slice('ucv_'.length, -1)}${id.endsWith('0') ? '1' : '0'}`
  expect((await ask('POST', `${PATH}/dry-run`, { replaces: nobodys })).status).toBe(404)
})
