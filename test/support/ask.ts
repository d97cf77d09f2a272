/** Requests of an API client. */
import { randomUUID } from 'node:crypto'

export interface Asked {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: the contract is what is being checked
  readonly json: any
}

/** @param headers additional headers; they can replace the generated Idempotency-Key */
export async function ask(
  baseUrl: string,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown,
): Promise<Asked> {
  const answer = await fetch(baseUrl + path, {
    method,
    headers: {
      ...(method === 'GET' ? {} : { 'idempotency-key': randomUUID() }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
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
