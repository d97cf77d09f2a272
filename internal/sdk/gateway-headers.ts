import { decimalText, type ModelCall } from './event.js'

/** What the response's headers say of a call: ids under which others record it, and what a gateway knows. */
export interface HeaderFacts extends Pick<ModelCall, 'request_id' | 'estimated_cost_usd' | 'served_from_cache'> {
  /** Who a gateway passed the call on to: a name, or a URL. */
  readonly provider: string | undefined
}

interface Headers {
  get(name: string): string | null
}

/** The first names the request to those who record it, too: a gateway's before the provider's. */
const REQUEST_IDS = [
  'x-litellm-call-id',
  'x-portkey-trace-id',
  'x-generation-id',
  'apim-request-id',
  'x-request-id',
  'request-id',
  'x-amzn-requestid',
]
/** LiteLLM states where a deployment is, Portkey whom it asked. */
const PROVIDERS = ['x-portkey-provider', 'x-litellm-model-api-base']
/** Answered by a gateway's cache: nothing was bought. LiteLLM then names the entry, and a cost of 0. */
const CACHES = ['x-portkey-cache-status', 'cf-aig-cache-status', 'helicone-cache']

export function factsOfHeaders(headers: Headers): HeaderFacts {
  const isCostless = Number(headers.get('x-litellm-response-cost') ?? Number.NaN) === 0
  const isHit =
    CACHES.some((name) => /^hit/i.test(headers.get(name) ?? '')) ||
    (isCostless && headers.get('x-litellm-cache-key') !== null)
  return {
    request_id: firstOf(headers, REQUEST_IDS),
    estimated_cost_usd: decimalText(headers.get('x-litellm-response-cost')),
    served_from_cache: isHit ? true : undefined,
    provider: firstOf(headers, PROVIDERS),
  }
}

/** Bedrock counts the tokens of models whose answers state none. */
export function usageInHeaders(headers: Headers): Readonly<Record<string, number>> | undefined {
  const usage: Record<string, number> = {}
  for (const [name, header] of COUNTS) {
    const count = headers.get(`x-amzn-bedrock-${header}-token-count`)
    if (count !== null && /^\d+$/.test(count)) usage[name] = Number(count)
  }
  return usage['inputTokens'] === undefined ? undefined : usage
}
const COUNTS = [
  ['inputTokens', 'input'],
  ['outputTokens', 'output'],
  ['cacheReadInputTokens', 'cache-read-input'],
  ['cacheWriteInputTokens', 'cache-write-input'],
] as const

function firstOf(headers: Headers, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = headers.get(name)
    if (value !== null && value !== '' && value.length <= 256) return value
  }
  return undefined
}
