import { execFile } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { litellmPayload } from '../internal/ingest/adapters/litellm-payload.js'
import { ask } from '../support/ask.js'
import { intakeOfProduct, newTenantOfProduct } from '../support/product.js'
import { type Instance, launchService } from '../support/service.js'

const CLI = fileURLToPath(new URL('../../dist/cmd/attribution/main.js', import.meta.url))
const run = promisify(execFile)

let service: Instance
let url: string

beforeAll(async () => {
  service = await newTenantOfProduct()
  url = intakeOfProduct()
})

const send = async (apiKey: string, body: unknown) => {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/intake/litellm`, { method: 'POST', body: JSON.stringify(body), headers })
  return { status: answer.status, json: (await answer.json()) as Record<string, unknown> }
}

/** The key of a gateway, once the service knows it. */
async function gatewayKey(): Promise<string> {
  const made = await ask(
    service.baseUrl,
    'POST',
    '/api/v1/api-keys',
    { 'x-api-key': service.credentials.api_key },
    { name: 'LiteLLM', scopes: ['read:attribution'], is_gateway: true },
  )
  expect(made).toMatchObject({ status: 201, json: { is_gateway: true } })
  while ((await send(made.json.secret, [])).status === 401);
  return made.json.secret
}

test('a batch of LiteLLM that is sent five times becomes one record per call', async () => {
  const key = await gatewayKey()
  const startTime = Date.now() / 1_000 - 60
  const batch = ['one', 'two', 'three'].map((id) =>
    litellmPayload({ litellm_call_id: id, startTime, endTime: startTime + 1.5 }),
  )

  const answers = []
  for (let i = 0; i < 5; i++) answers.push((await send(key, batch)).json['accepted'])
  expect(answers).toEqual([3, 0, 0, 0, 0])

  // biome-ignore lint/suspicious/noExplicitAny: the contract is what is being checked
  let records: any[] = []
  while (records.length < 3) {
    const { json } = await ask(service.baseUrl, 'GET', '/v1/attribution?limit=100', {
      'x-api-key': service.credentials.api_key,
    })
    records = json.data
  }
  expect(records).toHaveLength(3)
  for (const record of records) {
    expect(record).toMatchObject({
      service: 'search-prod',
      provider: 'openai',
      requested_model: 'fast',
      served_model: 'gpt-4o-mini-2024-07-18',
      input_tokens: 100,
      output_tokens: 30,
      cost_usd: '0.00003',
      pathway_category: 'gateway_mediated',
      interpretation: { confidence: 0.95, evidence_basis: 'identity_and_service_resolved' },
    })
  }
})

test('spend logs of LiteLLM close the gaps, and add no call that is there', async () => {
  const apiKey = service.credentials.api_key
  const startTime = Math.floor(Date.now() / 1_000) - 60
  await send(apiKey, [litellmPayload({ litellm_call_id: undefined, id: 'there', startTime })])
  const file = join(service.dataDir, 'spend.jsonl')
  const table = join(service.dataDir, 'spend.csv')
  const row = { call_type: 'acompletion', model: 'gpt-4o-mini', custom_llm_provider: 'openai', prompt_tokens: 1 }
  // Ids that are no UUID count with their second.
  const startedAt = new Date(startTime * 1_000).toISOString()
  const rowOf = (id: string) => ({ ...row, request_id: id, startTime: startedAt, completion_tokens: 1 })
  writeFileSync(file, ['there', 'lost'].map((id) => JSON.stringify(rowOf(id))).join('\n'))
  const rows = ['there', 'lost', 'copied'].map((id) => Object.values(rowOf(id)).join())
  writeFileSync(table, [Object.keys(rowOf('')).join(), ...rows, ''].join('\n'))

  const importing = (path: string) =>
    run(process.execPath, [CLI, 'import', 'litellm-spend-logs', path, '--intake-url', url, '--json'], {
      env: { ATTRIBUTION_API_KEY: apiKey },
    })
  const [first, second, third] = [await importing(file), await importing(file), await importing(table)]

  expect(JSON.parse(first.stdout)).toMatchObject({ received: 2, accepted: 1, duplicates: 1 })
  expect(JSON.parse(second.stdout)).toMatchObject({ received: 2, accepted: 0, duplicates: 2 })
  expect(JSON.parse(third.stdout)).toMatchObject({ received: 3, accepted: 1, duplicates: 2 })
})

test('an instance whose intake port is taken says so, and starts', async () => {
  const other = await launchService({ roles: [], args: ['--intake-port', new URL(url).port] })

  expect(other.process.lines.join('\n')).toMatch(/intake is off: port \d+ on 127\.0\.0\.1 is taken by another process/)
  expect((await send(service.credentials.api_key, [])).status).toBe(200)
  await other.stop()
  rmSync(other.dataDir, { recursive: true, force: true })
})

test('the doctor follows a probe to its record, and tail shows it', async () => {
  const since = new Date().toISOString()
  const cli = (...args: readonly string[]) =>
    run(process.execPath, [CLI, ...args, '--url', service.baseUrl, '--json'], {
      env: { ...process.env, ATTRIBUTION_API_KEY: service.credentials.api_key },
    })
  const tailing = cli('tail', '--service', 'attribution-doctor', '--since', since, '--count', '1')

  const { stdout } = await cli('doctor', '--part', 'intake', '--intake-url', url)

  const checks = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(checks.map(({ check, status }) => [check, status])).toEqual([
    ['api', 'ok'],
    ['credential', 'ok'],
    ['intake', 'ok'],
    ['record', 'ok'],
  ])
  const shown = JSON.parse((await tailing).stdout)
  expect(checks[3]?.['detail']).toContain(shown.id)
  expect(shown).toMatchObject({ service: 'attribution-doctor', cost_usd: '0', cost_basis: 'local_cache' })
  await expect(cli('doctor', '--part', 'intake', '--intake-url', service.baseUrl)).rejects.toMatchObject({
    code: 2,
    stdout: expect.stringContaining('"check":"intake","status":"failure"'),
  })
})
