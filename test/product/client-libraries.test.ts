import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import OpenAI from 'openai'
import { beforeAll, describe, expect, test } from 'vitest'
import { Attribution } from '../../internal/sdk/attribution.js'
import { startProvider } from '../internal/sdk/provider.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

/** The client libraries against the running product. */

const PYTHONPATH = fileURLToPath(new URL('../../deploy/clients/python', import.meta.url))
const CALLS = fileURLToPath(new URL('../deploy/clients/python/calls.py', import.meta.url))
const PYTHON_ENV = { ...process.env, PYTHONPATH, PYTHONDONTWRITEBYTECODE: '1' }

interface Shown {
  readonly service: string
  readonly served_model: string
  readonly cost_usd: string
}

let service: Instance
beforeAll(async () => {
  service = await newTenantOfProduct()
})

/** The records of a service, once there are so many. */
async function recordsOf(name: string, count: number): Promise<readonly Shown[]> {
  for (;;) {
    const response = await fetch(`${service.baseUrl}/v1/attribution?filter[service][eq]=${name}&limit=50`, {
      headers: { 'x-api-key': service.credentials.api_key },
    })
    const { data = [] } = (await response.json()) as { data?: readonly Shown[] }
    if (data.length >= count) return data
    await sleep(50)
  }
}

describe('calls of a wrapped client are records with their price', () => {
  test('from JavaScript', async () => {
    const provider = await startProvider()
    const attribution = new Attribution({
      baseUrl: service.baseUrl,
      apiKey: service.credentials.api_key,
      context: { attributed_service: 'js-search', attributed_identity: 'ann' },
    })
    const openai = attribution.wrapOpenAi(new OpenAI({ baseURL: provider.url, apiKey: 'k' }))
    await openai.chat.completions.create({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] })
    await attribution.close()

    expect(attribution.counts).toEqual({ recorded: 1, sent: 1, lost: 0, waiting: 0, spooled: 0 })
    const [record] = await recordsOf('js-search', 1)
    // 200 tokens at 0.15, 1,000 cached ones at 0.075, and 300 at 0.60 USD per million.
    expect(record).toMatchObject({ served_model: 'gpt-4o-mini-2024-07-18', cost_usd: '0.000285' })
  })

  test('from Python, synchronous and not, streamed and not, until the program ends', async () => {
    const env = { ...PYTHON_ENV, BASE_URL: service.baseUrl, API_KEY: service.credentials.api_key }
    const { stdout } = await promisify(execFile)('python3', [CALLS], { env, timeout: 60_000 })

    expect(JSON.parse(stdout)).toEqual({ recorded: 8 })
    const records = await recordsOf('python-search', 8)
    const costs = records.map(({ served_model, cost_usd }) => `${served_model} ${cost_usd}`).sort()
    expect(costs).toEqual([
      // In the United States: a tenth more.
      'claude-sonnet-4-6 0.003069',
      'claude-sonnet-4-6 0.0071775',
      'gpt-4o-mini 0.0000021',
      'gpt-4o-mini 0.000285',
      'gpt-4o-mini 0.000285',
      'gpt-4o-mini 0.000285',
      // Through OpenAI's host in Japan: a tenth more.
      'gpt-5.4-mini 0.0017325',
      'gpt-5.4-mini 0.0017325',
    ])
  })
})

test('both libraries and the examples agree on which deliveries are signed', async () => {
  const body = '{"id":"evt_1"}'
  const t = Math.floor(Date.now() / 1_000)
  const v1 = createHmac('sha256', 'whsec_a').update(`${t}.${body}`).digest('hex')
  const cases = [
    `t=${t},v1=${v1}`,
    `t=${t - 400},v1=${v1}`,
    `t=${t},v1=${'0'.repeat(64)}`,
    '',
    `t=${t},t=${t},v1=${v1}`,
  ]
  const { isSigned } = await import('../../internal/sdk/webhooks.js')
  const script = `
import json, sys
from attribution_service import is_signed
secrets = ["whsec_b", "whsec_a"]
print(json.dumps([is_signed(sys.argv[1].encode(), header, secrets) for header in json.loads(sys.argv[2])]))`
  const run = ['-c', script, body, JSON.stringify(cases)]
  const { stdout } = await promisify(execFile)('python3', run, { env: PYTHON_ENV })

  expect(JSON.parse(stdout)).toEqual([true, false, false, false, false])
  expect(cases.map((header) => isSigned(body, header, ['whsec_b', 'whsec_a']))).toEqual(JSON.parse(stdout))
})
