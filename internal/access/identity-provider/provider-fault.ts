import { AnswerTooLong } from '../../outbound/bounded-answer.js'

/** By the codes of `openid-client`. */
const FAULTS: Readonly<Record<string, string>> = {
  OAUTH_TIMEOUT: 'it did not answer in time',
  OAUTH_RESPONSE_IS_NOT_CONFORM: 'it answered with an unexpected status',
  OAUTH_RESPONSE_IS_NOT_JSON: 'its answer is not JSON',
  OAUTH_PARSE_ERROR: 'its answer is not JSON',
  OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED: 'it names another issuer than the one that is set',
  OAUTH_INVALID_RESPONSE: 'its answer lacks a required field, or has one in another form',
}
/** Of its description: `cause.cause.attribute` is then our word for the field, not the provider's. */
const OF_FIELD: Readonly<Record<string, string>> = {
  OAUTH_MISSING_SERVER_METADATA: 'its description lacks',
  OAUTH_INVALID_SERVER_METADATA: 'its description has no valid',
}
/** Of Node's `fetch`, behind a "fetch failed". */
const LATE = new Set(['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

/** It signs in accounts of any company: the operator must name one. */
export class AnyCompany extends Error {}

/**
 * Why a provider could not be used, in plain words, for people who wait to sign in and for the log. It repeats nothing
 * of what the provider sent.
 */
export function faultOfProvider(cause: unknown): string {
  if (cause instanceof AnyCompany) return 'it signs in accounts of any company; its issuer must name one'
  const causes = chainOf(cause)
  const codes = causes.map(({ code }) => code).filter((code) => typeof code === 'string')
  if (causes.some((each) => each instanceof AnswerTooLong)) return 'its answer is too long'
  if (codes.some((code) => LATE.has(code))) return FAULTS['OAUTH_TIMEOUT'] as string
  for (const code of codes) {
    const field = causes.map(({ attribute }) => attribute).find((each) => typeof each === 'string')
    if (Object.hasOwn(OF_FIELD, code) && field !== undefined) return `${OF_FIELD[code]} ${field}`
    if (Object.hasOwn(FAULTS, code)) return FAULTS[code] as string
  }
  // What `fetch` throws; a TypeError without a cause would be a mistake of ours.
  if (causes.some((each) => each instanceof TypeError && each.cause !== undefined)) {
    return `it cannot be reached${inBrackets(codes.find((each) => SYSTEM_CODE.test(each)))}`
  }
  // Messages with these codes are words of the library alone.
  const known = causes.find(({ code }) => typeof code === 'string' && code.startsWith('OAUTH_'))
  return `its answer cannot be used${inBrackets(known?.message)}`
}

const inBrackets = (words: string | undefined): string => (words === undefined ? '' : ` (${words})`)

/** Such as ECONNREFUSED, ENOTFOUND or CERT_HAS_EXPIRED. */
const SYSTEM_CODE = /^[A-Z][A-Z_0-9]*$/
const DEPTH_MAX = 5

interface Cause {
  readonly code?: unknown
  readonly attribute?: unknown
  readonly cause?: unknown
  readonly message?: string
}

function chainOf(cause: unknown): readonly Cause[] {
  const chain: Cause[] = []
  for (let at = cause; typeof at === 'object' && at !== null && chain.length < DEPTH_MAX; at = (at as Cause).cause) {
    chain.push(at)
  }
  return chain
}
