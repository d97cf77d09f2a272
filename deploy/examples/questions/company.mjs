/**
 * Fills a new tenant with the calls that `deploy/docs/questions.md` asks about: a company of six services in September
 * and October 2026, a pilot in August, and some calls of today. The same calls each time, so that the answers are those of the page.
 *
 *   API_KEY=ak_... node deploy/examples/questions/company.mjs http://127.0.0.1:8080
 */
import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

/** Calls of each person in September, October, today and August; a service without people is a scheduled job. */
const SERVICES = [
  {
    name: 'support-chat',
    owner: 'team-support',
    people: 12,
    calls: [4, 6, 2],
    usd: '0.02',
    call: {
      provider: 'openai',
      requested_model: 'gpt-4o',
      region: 'eu-central-1',
      input_tokens: 3000,
      output_tokens: 500,
    },
    tags: { project: 'helpdesk' },
  },
  {
    name: 'contract-review',
    owner: 'team-legal',
    people: 6,
    calls: [0, 5, 3],
    usd: '0.09',
    call: {
      ingestion_layer: 'sdk',
      provider: 'anthropic',
      requested_model: 'claude-sonnet-4-5',
      region: 'us-east-1',
      input_tokens: 9000,
      output_tokens: 900,
    },
    tags: { project: 'contracts' },
  },
  {
    name: 'product-search',
    owner: 'team-search',
    people: 20,
    calls: [10, 9, 2],
    usd: '0.002',
    call: {
      provider: 'openai',
      requested_model: 'gpt-4o-mini',
      region: 'eu-central-1',
      input_tokens: 800,
      output_tokens: 120,
    },
    tags: { project: 'shop' },
  },
  {
    name: 'translations',
    owner: 'team-support',
    people: 7,
    calls: [6, 0, 0],
    usd: '0.012',
    call: {
      provider: 'mistral',
      requested_model: 'mistral-large-latest',
      region: 'eu-west-3',
      input_tokens: 1500,
      output_tokens: 1500,
    },
    tags: { project: 'shop' },
  },
  {
    // Too few people for a row of its own.
    name: 'payroll-help',
    owner: 'team-people',
    people: 3,
    calls: [5, 5, 0],
    usd: '0.008',
    call: {
      provider: 'openai',
      requested_model: 'gpt-4o',
      region: 'eu-central-1',
      input_tokens: 1200,
      output_tokens: 300,
    },
  },
  {
    name: 'nightly-report',
    owner: 'team-search',
    people: 0,
    calls: [30, 31, 10],
    usd: '0.015',
    call: {
      provider: 'openai',
      requested_model: 'gpt-4o-mini',
      region: 'us-east-1',
      input_tokens: 20_000,
      output_tokens: 2000,
    },
    tags: { project: 'shop' },
  },
  {
    // A model without a price, in use since October.
    name: 'product-search',
    people: 0,
    calls: [0, 4, 0],
    call: { provider: 'in-house', requested_model: 'acme-7b', input_tokens: 700, output_tokens: 100 },
    tags: { project: 'shop' },
  },
  {
    // A pilot of August, priced by the price book: workflows of several calls, some in batches, some that failed.
    name: 'document-check',
    owner: 'team-legal',
    people: 6,
    calls: [0, 0, 0, 20],
    call: {
      ingestion_layer: 'sdk',
      provider: 'openai',
      requested_model: 'gpt-4o',
      region: 'eu-central-1',
      input_tokens: 4000,
      cached_input_tokens: 1000,
      output_tokens: 600,
    },
    /** Of the so-manieth call of a person. */
    varied: (nth) => ({
      outcome: ['error', 'cancelled'][nth % 10] ?? 'success',
      operation_id: `contract-${(nth % 4) + 1}`,
      ...(nth % 5 === 0 && { usage_basis: 'partial', output_tokens: 150 }),
      ...(nth % 3 === 0 && { service_tier: 'batch' }),
    }),
  },
  {
    // Scripts that name neither a service nor anybody.
    people: 0,
    calls: [6, 12, 0],
    usd: '0.05',
    call: {
      ingestion_layer: 'application',
      provider: 'anthropic',
      requested_model: 'claude-sonnet-4-5',
      input_tokens: 5000,
      output_tokens: 400,
    },
  },
]

const [baseUrl = 'http://127.0.0.1:8080'] = process.argv.slice(2)
const headers = { 'x-api-key': process.env.API_KEY ?? '', 'content-type': 'application/json' }

async function ask(method, path, body) {
  const answer = await fetch(`${baseUrl}${path}`, {
    method,
    headers: { ...headers, 'idempotency-key': randomUUID() },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  return JSON.parse(text)
}

/**
 * Asks again until it is so. A gateway learns of a new tenant, and an attributor of new services, within a second or
 * two.
 */
async function until(isSo) {
  for (let tries = 0; !(await isSo()); tries++) {
    if (tries === 300) throw new Error('the instance did not get there within a minute')
    await sleep(200)
  }
}

/** Ids follow from the content, so that sending the calls again adds none. */
function uuidOf(text) {
  const hex = createHash('sha256').update(text).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

function callsOf({ name, people, calls, usd, call, tags, varied }, place) {
  return calls.flatMap((perPerson, period) =>
    Array.from({ length: perPerson * Math.max(people, 1) }, (_, i) => ({
      event_id: uuidOf(`${process.env.API_KEY} ${place} ${period} ${i}`),
      ingestion_layer: 'gateway',
      ingestion_timestamp: timeOf(period, i),
      ...call,
      ...varied?.(Math.floor(i / people)),
      ...(usd !== undefined && { estimated_cost_usd: usd }),
      ...(tags !== undefined && { tags }),
      ...(name !== undefined && { attributed_service: name }),
      ...(people > 0 && { attributed_identity: `${name}-${(i % people) + 1}@example.com` }),
    })),
  )
}

/** Spread over the days of a month, and over 20 hours of each. */
const timeOf = (period, i) =>
  period === 2
    ? new Date().toISOString()
    : new Date(Date.UTC(2026, MONTHS[period], 1 + (i % 28), 3 + (i % 20))).toISOString()
const MONTHS = { 0: 8, 1: 9, 3: 7 }

await until(async () => (await fetch(`${baseUrl}/api/v1/settings`, { headers })).ok)
await ask('PATCH', '/api/v1/settings', { dimensions: [{ key: 'project' }], stage_b_enabled: false })
for (const { name, owner } of SERVICES) {
  if (owner !== undefined) await ask('POST', '/api/v1/directory/services', { name, owner })
}
const events = SERVICES.flatMap(callsOf)
await ask('POST', '/api/v1/invocations', JSON.stringify(events))
await until(async () => {
  const { data } = await ask('GET', '/v1/reports/usage?from=2026-08-01')
  return data[0]?.calls === events.length
})
console.log(`${events.length} calls are recorded`)
