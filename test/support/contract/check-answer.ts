/** Checks a reply against the OpenAPI description. */
import type { FieldError } from '../../../internal/problems/problem-catalogue.js'
import { type Described, type DescribedOperation, schemaChecker } from './described.js'

export interface Answer {
  readonly status: number
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>
  readonly text: string
}

export interface Asked {
  readonly operation: DescribedOperation
  /** Path as sent, without the query. */
  readonly path: string
  /** Texts in the request that must not appear in the reply. */
  readonly planted: readonly string[]
  /** Tenant of the credential; undefined without a valid credential. */
  readonly tenantId: string | undefined
}

/** @returns a function that lists the differences of a reply from the description */
export function answerChecker(described: Described): (asked: Asked, answer: Answer) => string[] {
  const check = schemaChecker(described, true)
  return ({ operation, path, planted, tenantId }, { status, headers, text }) => {
    const wrong: string[] = []
    const must = (holds: boolean, what: string): void => {
      if (!holds) wrong.push(what)
    }
    const response = operation.responses.get(status)
    if (response === undefined) return [`answers ${status}, which is not described: ${text.slice(0, 300)}`]

    for (const [name, { required, schema }] of Object.entries(response.headers)) {
      const value = headers.get(name.toLowerCase())
      must(value !== undefined || !required, `has no ${name}`)
      if (value === undefined) continue
      const fault = check(schema)(schema['type'] === 'integer' ? numberOf(value) : value)
      must(fault === undefined, `has ${name}: ${value} (${fault})`)
    }

    const mediaType = headers.get('content-type')?.split(';')[0]
    if (response.contents.size === 0) {
      must(text === '', 'has a body, and none is described')
    } else {
      const schema = response.contents.get(mediaType ?? '')
      must(schema !== undefined, `is ${mediaType}`)
      const body = mediaType?.endsWith('json') === true ? parsed(text) : text
      const fault = schema && check(schema)(body)
      must(fault === undefined, `does not match its schema: ${fault} in ${text.slice(0, 500)}`)
    }

    if (status >= 400 && mediaType === 'application/problem+json') {
      const problem = parsed(text) as Record<string, unknown>
      must(problem['instance'] === path, `names ${problem['instance']} as its path`)
      must(problem['status'] === status, 'names another status')
      must(
        response.errorCodes.includes(String(problem['error_code'])),
        `is ${problem['error_code']}, not described here`,
      )
      const vague = ((problem['errors'] ?? []) as FieldError[]).filter(({ detail }) => OF_A_LIBRARY.test(detail))
      must(vague.length === 0, `names no form that people know: ${JSON.stringify(vague)}`)
      must(problem['type'] === problem['docs_url'], 'has another type than page')
      must(problem['tenant_id'] === null || problem['tenant_id'] === tenantId, `names ${problem['tenant_id']}`)
      must(
        status !== 401 || tenantId === undefined || problem['error_code'] === 'STEP_UP_REQUIRED',
        'refuses a credential',
      )
      must(headers.get('traceparent')?.split('-')[1] === problem['trace_id'], 'has another trace id in its head')
    }
    must(status !== 500, `fails inside: ${text}`)
    must(operation.scope === undefined || headers.get('cache-control') === 'no-store', 'may be cached')
    must(!/\n\s+at |node:internal|\.[jt]s:\d+/.test(text), 'shows a stack')
    for (const secret of planted) must(!text.includes(secret), 'repeats the planted text')
    return wrong
  }
}

/** How zod, ajv and JavaScript say it, and what says nothing. */
const OF_A_LIBRARY =
  /Invalid |Too (?:small|big)|expected|Unrecognized|pattern|schema|NOT |equal to|[<>]=|must be (?:string|integer|number|boolean|array|object)\b|required form|undefined|NaN/

const numberOf = (text: string): unknown => (/^\d+$/.test(text) ? Number(text) : text)

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Its status and error code, `403 INSUFFICIENT_SCOPE`. */
export const outcomeOf = ({ status, text }: Answer): string => {
  // An answer may tell of others' error codes: the description does, and the audit log.
  const code = status < 400 ? undefined : /"error_code":"([A-Z_]+)"/.exec(text)?.[1]
  return code === undefined ? String(status) : `${status} ${code}`
}
