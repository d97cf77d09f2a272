/**
 * Cases from public reports of other products: what tools sent there, and what it cost. They lie beside the checkout
 * (`../shared/cases`); a clone without them skips this file. Each has a tenant of its own, and what it sends is sent to
 * the running product as it is.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { Attribution } from '../../internal/sdk/attribution.js'
import { type Ask, askAs } from '../support/ask.js'
import { intakeOfProduct, newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

const CASES = new URL('../../../shared/cases/', import.meta.url)
const CLI = fileURLToPath(new URL('../../dist/cmd/attribution/main.js', import.meta.url))

/** What is compared of a record; `price` is what the book or a contract says, beside a cost that the sender stated. */
interface Expected {
  readonly provider?: string
  readonly model?: string
  readonly input?: number
  readonly cached?: number | null
  readonly written?: number | null
  readonly output?: number
  readonly reasoning?: number | null
  readonly cost?: string
  readonly price?: string | null
  readonly stated?: string | null
  readonly basis?: string
  readonly usage?: string
  readonly outcome?: string
  readonly tier?: string
  readonly service?: string
  readonly eligibility?: string
  readonly reason?: string
}

interface Case {
  readonly name: string
  readonly send: (to: Sender) => Promise<unknown>
  /** Records in any order. */
  readonly records: readonly Expected[]
}

/** Sends files of one case as one tenant. */
class Sender {
  readonly ask: Ask
  private gatewayKey: string | undefined

  readonly service: Instance
  readonly folder: string

  constructor(service: Instance, folder: string) {
    this.service = service
    this.folder = folder
    this.ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
  }

  read(file: string): string {
    return readFileSync(new URL(`${this.folder}/${file}`, CASES), 'utf8')
  }

  async post(url: string, key: string, body: string): Promise<void> {
    const type = {
      'content-type': body.startsWith('{') && body.includes('\n{') ? 'application/x-ndjson' : 'application/json',
    }
    const native = url.endsWith('/invocations') ? { 'idempotency-key': crypto.randomUUID() } : type
    const answer = await fetch(url, { method: 'POST', body, headers: { ...type, ...native, 'x-api-key': key } })
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
  }

  otlp = (file: string, signal: 'traces' | 'logs' = 'traces', key = this.service.credentials.api_key) =>
    this.post(`${intakeOfProduct()}/v1/${signal}`, key, this.read(file))

  native = (file: string) =>
    this.post(`${this.service.baseUrl}/api/v1/invocations`, this.service.credentials.api_key, this.read(file))

  /** To an intake with the key of a gateway. */
  intake = async (file: string, source = 'litellm', key = '') =>
    this.post(`${intakeOfProduct()}/intake/${source}`, key || (await this.gateway()), this.read(file))

  async gateway(): Promise<string> {
    this.gatewayKey ??= await this.newGateway()
    return this.gatewayKey
  }

  async newGateway(): Promise<string> {
    const { json } = await this.ask('POST', '/api/v1/api-keys', {
      name: `gateway ${crypto.randomUUID()}`,
      scopes: ['read:attribution'],
      is_gateway: true,
    })
    const url = `${intakeOfProduct()}/intake/litellm`
    const headers = { 'x-api-key': json.secret, 'content-type': 'application/json' }
    while ((await fetch(url, { method: 'POST', body: '[]', headers })).status === 401) await sleep(20)
    return json.secret
  }
}

const LITELLM_CACHE = { provider: 'openai', model: 'gpt-5.6-luna', input: 18014, output: 20 }

const ALL: readonly Case[] = [
  {
    name: '01-ai-sdk-openai-responses-span',
    send: (to) => to.otlp('traces.json'),
    records: [{ provider: 'openai', input: 2224, cached: 2048, output: 1469, reasoning: 1152, cost: '0.00060664' }],
  },
  {
    name: '02-ai-sdk-anthropic-two-conventions',
    send: async (to) => {
      await to.otlp('v5.json')
      await to.otlp('v6.json')
    },
    records: [1, 2].map(() => ({ provider: 'anthropic', input: 8000, cached: 3000, output: 200, cost: '0.0189' })),
  },
  {
    name: '03-vercel-ai-gateway-provider',
    send: async (to) => {
      await to.otlp('ai-sdk.json')
      await to.otlp('eve.json')
    },
    records: [
      { provider: 'anthropic', cost: '0.0027', stated: null },
      { provider: 'anthropic', cost: '0.0027', stated: '0.0027', price: '0.0027' },
    ],
  },
  {
    name: '04-otel-cache-key-spellings',
    send: (to) => to.otlp('traces.json'),
    records: [{ cost: '0.031601' }, { cost: '0.07983375' }, { cost: '0.029903' }],
  },
  {
    name: '06-gemini-tool-use-prompt-tokens',
    send: (to) => to.otlp('traces.json'),
    records: [{ input: 378586, output: 3093, cost: '0.1213083' }],
  },
  {
    name: '11-nested-spans-in-two-requests',
    send: async (to) => {
      await to.otlp('1-inner.json')
      await sleep(2_000)
      await to.otlp('2-outer.json')
    },
    records: [{ cost: '0.0016' }],
  },
  // The control has the response id of the others.
  { name: '11-nested-spans-in-two-requests', send: (to) => to.otlp('both.json'), records: [{ cost: '0.0016' }] },
  {
    name: '13-openai-regional-host',
    send: (to) => to.otlp('traces.json'),
    records: [{ cost: '0.044' }],
  },
  {
    name: '15-claude-code-spans-only',
    send: (to) => to.otlp('traces.json'),
    records: [{ input: 51800, cached: 48000, written: 2600, output: 700, price: '0.03825', basis: 'notional' }],
  },
  {
    name: '15-claude-code-spans-only',
    send: async (to) => {
      await to.otlp('logs.json', 'logs')
      await to.otlp('traces.json')
    },
    records: [{ input: 51800, cached: 48000, written: 2600, output: 700, price: '0.03825', basis: 'notional' }],
  },
  {
    name: '16-claude-code-fast-mode-and-1m',
    send: (to) => to.otlp('logs.json', 'logs'),
    records: [
      { price: '0.145', stated: '0.145', basis: 'notional', reason: 'claude-opus-5' },
      { price: '0.0725', stated: '0.0725', basis: 'notional', reason: 'claude-opus-5' },
    ],
  },
  {
    name: '18-claude-code-through-bedrock-is-billed',
    send: (to) => to.otlp('logs.json', 'logs'),
    records: [
      { provider: 'aws.bedrock', cost: '0.066836', stated: '0.01126' },
      { provider: 'aws.bedrock', basis: 'unpriced', reason: 'opaque_profile' },
    ],
  },
  {
    name: '19-gemini-cli-logs',
    send: (to) => to.otlp('logs.json', 'logs'),
    records: [
      {
        provider: 'gcp.gemini',
        input: 12000,
        cached: 8000,
        output: 770,
        reasoning: 420,
        price: '0.0137',
        basis: 'notional',
      },
    ],
  },
  {
    name: '21-litellm-batch-final-cost',
    send: async (to) => {
      await to.intake('callbacks.ndjson')
      await to.intake('callbacks.ndjson')
    },
    records: [{ provider: 'gcp.vertex_ai', input: 15, output: 174, cost: '0.00066375', tier: 'batch' }],
  },
  {
    name: '23-litellm-fallback-shares-call-id',
    send: async (to) => {
      await to.intake('callbacks.ndjson')
      await to.intake('callbacks.ndjson')
    },
    records: [
      { provider: 'openai', cost: '0.0095', usage: 'partial' },
      { provider: 'anthropic', cost: '0.0165' },
    ],
  },
  {
    name: '24-litellm-old-bedrock-prompt-tokens',
    send: (to) => to.intake('callback.json'),
    records: [{ input: 6000, cached: 5000, written: 800, output: 100, cost: '0.00726' }],
  },
  {
    name: '24-litellm-old-bedrock-prompt-tokens',
    send: async (to) => {
      const file = fileURLToPath(new URL(`${to.folder}/spend.csv`, CASES))
      const env = { ...process.env, ATTRIBUTION_URL: to.service.baseUrl, ATTRIBUTION_API_KEY: await to.gateway() }
      const args = ['import', 'litellm-spend-logs', file, '--intake-url', intakeOfProduct()]
      await promisify(execFile)(process.execPath, [CLI, ...args], { env, timeout: 60_000 })
    },
    records: [{ input: 6000, cached: 5000, written: 800, output: 100, cost: '0.00726' }],
  },
  {
    name: '25-gpt-5-6-cache-write-tokens',
    send: async (to) => {
      await to.intake('callbacks.ndjson')
      await to.native('native.ndjson')
    },
    records: [1, 2].flatMap(() => [
      { ...LITELLM_CACHE, written: 18011, cost: '0.00452735' },
      { ...LITELLM_CACHE, cached: 18011, cost: '0.00038482' },
    ]),
  },
  {
    name: '26-stated-zero-unknown-and-truly-free',
    send: (to) => to.intake('callbacks.ndjson'),
    records: [{ cost: '0.027' }, { cost: '0', eligibility: 'eligible' }],
  },
  {
    name: '27-openrouter-byok',
    send: (to) => to.intake('callbacks.ndjson'),
    records: [{ cost: '0.037883475' }, { cost: '0.0360795' }],
  },
  {
    name: '33-interrupted-stream-two-sources',
    send: async (to) => {
      await to.intake('litellm.json')
      await to.intake('bedrock.json', 'bedrock-log', await to.newGateway())
    },
    records: [{ output: 1800, cost: '0.1617', service: 'search-api' }],
  },
  {
    name: '35-kong-two-ai-plugins',
    send: async (to) => {
      await to.intake('kong.json', 'kong')
      await to.intake('kong.json', 'kong')
    },
    records: [
      { input: 89, output: 56, cost: '0.0012' },
      { input: 28, output: 20, cost: '0.0038' },
    ],
  },
  {
    name: '37-envoy-final-usage-and-reasoning',
    send: (to) => to.intake('access.ndjson', 'envoy'),
    records: [
      { input: 9033, written: 4511, output: 5, cost: '0.03055725' },
      { input: 1000, output: 900, reasoning: 768, cost: '0.032' },
      { basis: 'unpriced', usage: 'unknown' },
    ],
  },
  {
    name: '38-bedrock-in-region-and-geo-price',
    send: (to) => to.intake('log.ndjson', 'bedrock-log'),
    records: [{ cost: '0.01155' }, { cost: '0.01925' }],
  },
  {
    name: '39-bedrock-application-profile-arn',
    send: (to) => to.intake('log.ndjson', 'bedrock-log'),
    records: [{ basis: 'unpriced', reason: 'opaque_profile' }, { cost: '0.00385' }],
  },
  {
    name: '43-realtime-cached-audio',
    send: async (to) => {
      await to.intake('callback.json')
      const event = { ...JSON.parse(to.read('native.json')), cached_audio_input_tokens: 400 }
      await to.post(`${to.service.baseUrl}/api/v1/invocations`, to.service.credentials.api_key, JSON.stringify(event))
    },
    records: [{ cost: '0.017' }, { cost: '0.017' }],
  },
  {
    name: '42-deepseek-peak-hours-and-change',
    send: (to) => to.native('native.ndjson'),
    records: [
      ...['0.021', '0.042', '0.042', '0.021', '0.021', '0.0168', '0.0286'].map((cost) => ({
        model: 'deepseek-v4-flash',
        cost,
      })),
      { model: 'deepseek-chat', basis: 'unpriced', reason: 'no_price_in_force' },
      { model: 'deepseek-flash', cost: '0.021' },
    ],
  },
  {
    name: '44-anthropic-compaction-iterations',
    send: async (to) => {
      const attribution = new Attribution({ baseUrl: to.service.baseUrl, apiKey: to.service.credentials.api_key })
      const answer = JSON.parse(to.read('answer.json')) as object
      const fetching = attribution.fetch({}, async () => Response.json(answer))
      const body = JSON.stringify({ model: 'claude-opus-4-8', max_tokens: 5000, messages: [] })
      await (await fetching('https://api.anthropic.com/v1/messages', { method: 'POST', body })).json()
      await attribution.close()
    },
    records: [{ input: 203000, output: 4500, cost: '1.1275' }],
  },
  {
    name: '58-attempts-and-operations',
    send: (to) => to.native('native.ndjson'),
    records: [
      { cost: '0.0021', outcome: 'error', usage: 'partial' },
      { cost: '0', outcome: 'error' },
      { cost: '0.0048', outcome: 'success' },
    ],
  },
]

/** A record with its explanation, as it is compared; undefined where another one has taken it up meanwhile. */
async function shown(ask: Ask, id: string): Promise<Required<Expected> | undefined> {
  const { status, json } = await ask('GET', `/v1/attribution/${id}`)
  if (status !== 200) return undefined
  const { explanation, ...record } = json
  const { cost } = explanation
  const line = (part: RegExp): number | null =>
    cost.lines
      .filter((each: { part: string }) => part.test(each.part))
      .reduce((sum: number, each: { tokens: number }) => sum + each.tokens, 0) || null
  return {
    provider: record.provider,
    model: record.served_model ?? record.requested_model,
    input: record.input_tokens,
    cached: line(/cache_read/),
    written: line(/cache_write/),
    output: record.output_tokens,
    reasoning: line(/^reasoning/),
    cost: record.cost_usd,
    price: cost.price_usd,
    stated: cost.stated_usd,
    basis: record.cost_basis,
    usage: record.usage_basis,
    outcome: record.outcome,
    tier: cost.details.price?.service_tier,
    service: record.service,
    eligibility: record.interpretation.export_eligibility,
    reason: cost.details.reason ?? cost.details.price?.model,
  }
}

const matches = (found: Required<Expected>, wanted: Expected): boolean =>
  Object.entries(wanted).every(([key, value]) => found[key as keyof Expected] === value)

/** The records of a tenant. */
async function recordsOf(ask: Ask): Promise<readonly Required<Expected>[]> {
  const { json } = await ask('GET', '/v1/attribution?limit=50')
  const found = await Promise.all((json.data as { id: string }[]).map(({ id }) => shown(ask, id)))
  return found.filter((record) => record !== undefined)
}

/** What is wanted and not there, and what is there and not wanted. */
function differences(found: readonly Required<Expected>[], wanted: readonly Expected[]) {
  const unexpected = [...found]
  const missing = wanted.filter((each) => {
    const place = unexpected.findIndex((record) => matches(record, each))
    if (place >= 0) unexpected.splice(place, 1)
    return place < 0
  })
  return { missing, unexpected }
}

const LOOKS_MAX_MS = 20_000
/** Records that are right stay so for a while: a second one of a call comes moments later, and goes again. */
const LASTING_MS = 1_500

/** Compares until the records are those that are wanted, and stay so. */
async function lastDifferences(ask: Ask, wanted: readonly Expected[]) {
  const untilMs = Date.now() + LOOKS_MAX_MS
  let rightSinceMs: number | undefined
  for (;;) {
    const found = differences(await recordsOf(ask), wanted)
    const isRight = found.missing.length + found.unexpected.length === 0
    rightSinceMs = isRight ? (rightSinceMs ?? Date.now()) : undefined
    if (rightSinceMs !== undefined && Date.now() - rightSinceMs >= LASTING_MS) return found
    if (Date.now() > untilMs) return found
    await sleep(200)
  }
}

describe.skipIf(!existsSync(CASES))('reported cases (beside the checkout) come out as they were billed', () => {
  test.concurrent.each(ALL.map((each, place) => [`${each.name} (${place + 1})`, each] as const))(
    '%s',
    async (_, each) => {
      const service = await newTenantOfProduct()
      const sender = new Sender(service, each.name)
      await each.send(sender)

      expect(await lastDifferences(sender.ask, each.records)).toEqual({ missing: [], unexpected: [] })
    },
  )
})
