/** Requests of an API client. */
import { randomUUID } from 'node:crypto'

export interface Asked {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: the contract is what is being checked
  readonly json: any
}

/**
 * No request of the API takes longer, also while processes are killed: one that does is said, since callers may try
 * again.
 */
const ANSWER_MS_MAX = 120_000

/** @param headers additional headers; they can replace the generated Idempotency-Key */
export async function ask(
  baseUrl: string,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown,
): Promise<Asked> {
  const signal = AbortSignal.timeout(ANSWER_MS_MAX)
  const answer = await fetch(baseUrl + path, {
    method,
    headers: {
      ...(method === 'GET' ? {} : { 'idempotency-key': randomUUID() }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal,
  }).catch((cause: unknown) => {
    if (signal.aborted) console.log(`no answer within ${ANSWER_MS_MAX} ms: ${method} ${path}`)
    throw cause
  })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, json: text === '' ? undefined : JSON.parse(text) }
}

export const refusalOf = ({ status, json }: Asked): readonly unknown[] => [status, json?.error_code]

export type Ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Asked>

/** @param credential headers that authenticate every request */
export const askAs =
  (baseUrl: string, credential: Record<string, string>): Ask =>
  (method, path, body, headers = {}) =>
    ask(baseUrl, method, path, { ...credential, ...headers }, body)

/** Has any number of events admitted, five thousand at a time. @returns the ids of their records */
export async function sendEvents(ask: Ask, events: readonly Record<string, unknown>[]): Promise<string[]> {
  const ids: string[] = []
  for (let from = 0; from < events.length; from += 5_000) {
    const body = events.slice(from, from + 5_000)
    let answer = await ask('POST', '/api/v1/invocations', body)
    while (answer.status === 503) answer = await ask('POST', '/api/v1/invocations', body)
    const results = answer.json.results as readonly { readonly invocation_id: string }[]
    ids.push(...results.map(({ invocation_id: id }) => id.replace('inv_', 'attr_')))
  }
  return ids
}
