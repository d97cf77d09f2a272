import { isUuid } from '../../ids/ids.js'
import type { Selected } from '../../text/select-json.js'
import { countOf, idOf, objectOf } from './fields.js'

/**
 * Ids of a LiteLLM payload. `litellm_call_id` is the caller's request: a retry or a fallback is another attempt under
 * the same one, and callers may choose it. `id` is that of the response, or the call's where the response has none.
 */
export interface LitellmIds {
  /** What the event's id is made of: the same for every repeat of this attempt, and for its row of spend. */
  readonly attempt: readonly string[]
  readonly response: string | undefined
  readonly request: string | undefined
  readonly operation: string | undefined
  readonly attemptNumber: number | undefined
}

/** Where LiteLLM keeps the headers of the provider's response: with its prefix, or as they were. */
const AMAZON_HEADERS = ['llm_provider-x-amzn-requestid', 'x-amzn-requestid', 'llm_provider-x-amzn-request-id'] as const
const RETRY_HEADERS = ['x-litellm-attempted-retries', 'x-litellm-attempted-fallbacks'] as const

/** What is read of `hidden_params.additional_headers`. */
export const HEADERS_WANTED: Readonly<Record<string, 'value'>> = Object.fromEntries(
  [...AMAZON_HEADERS, ...RETRY_HEADERS].map((name) => [name, 'value'] as const),
)

/** What LiteLLM appends where its cache answered: the caller has seen the id without it. */
const REPLAYED = /_cache_hit\d+(?:\.\d+)?$/

/** @returns undefined where the payload has no id at all */
export function litellmIds(payload: Selected, startMs: number | undefined, isEmpty: boolean): LitellmIds | undefined {
  const stated = idOf(payload['id'])
  // Tables of spend of versions that state no call have the call's id, a UUID, where the response has none.
  const call = idOf(payload['litellm_call_id']) ?? (stated !== undefined && isUuid(stated) ? stated : undefined)
  if (stated === undefined && call === undefined) return undefined
  const headers = objectOf(objectOf(payload['hidden_params'])['additional_headers'])
  const amazon = amazonRequestId(headers)
  const response = stated === undefined || stated === call || isUuid(stated) ? undefined : stated.replace(REPLAYED, '')
  const provider = typeof payload['custom_llm_provider'] === 'string' ? payload['custom_llm_provider'] : ''
  return {
    // Attempts of one call begin at different instants. The end of a call that ran in the background is logged as its
    // beginning is, but with usage.
    attempt:
      call === undefined
        ? [`${stated} ${Math.floor((startMs ?? 0) / 1_000)}`]
        : [call, ' ', `${startMs ?? 0}`, ' ', provider, isEmpty ? ' -' : ''],
    // Bedrock's log knows the request by the header's id, the caller the response by the other one.
    response: response ?? amazon,
    request: response === undefined ? (call ?? amazon) : (amazon ?? call),
    operation: call,
    attemptNumber: attemptOf(headers),
  }
}

/** Under it, Bedrock logs the request. */
export const amazonRequestId = (headers: Selected): string | undefined =>
  idOf(...AMAZON_HEADERS.map((name) => headers[name]))

/** The router counts retries and fallbacks in headers of the response. */
function attemptOf(headers: Selected): number | undefined {
  const [retries, fallbacks] = RETRY_HEADERS.map((name) => countOf(headers[name]))
  return retries === undefined && fallbacks === undefined ? undefined : 1 + (retries ?? 0) + (fallbacks ?? 0)
}

/** Suffixes of the one entry by which LiteLLM bills what ran in the background. */
const BILLED_SUFFIX = /_(?:batch|background)_cost$/

/** The provider's id of what ran in the background: the same however often somebody looks at it. */
export function backgroundId(payload: Selected): string | undefined {
  const id = payload['id'] ?? payload['litellm_call_id']
  return typeof id === 'string' ? idOf(unpackedId(id.replace(BILLED_SUFFIX, ''))) : undefined
}

/**
 * The id of an answer that may be read later. One that the proxy has encrypted is another each time: such an answer
 * cannot be told from others.
 */
export function answerId(payload: Selected): string | undefined {
  const id = backgroundId(payload)
  return id?.startsWith('resp_') === true && id.length <= PROVIDERS_ID_MAX ? id : undefined
}
const PROVIDERS_ID_MAX = 128

/** LiteLLM packs provider, deployment and the provider's id into the ids that it gives to callers. */
const PACKED_ID = /^(?:resp_)?([A-Za-z0-9+/_-]{24,4096}={0,2})$/
const PROVIDERS_ID = /^litellm(?:_proxy)?[;:].*(?:response_id|llm_batch_id):([^;\s]{1,256})/

/** The provider's own id; an id that cannot be unpacked stays. */
function unpackedId(id: string): string {
  const packed = PACKED_ID.exec(id)?.[1]
  if (packed === undefined) return id
  return PROVIDERS_ID.exec(Buffer.from(packed, 'base64').toString('latin1'))?.[1] ?? id
}
