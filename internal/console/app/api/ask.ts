import type { Problem } from 'attribution-service/sdk/api'
import { renewAccessToken, validAccessToken } from '../session/session.js'

/** A problem that the API answered with (`application/problem+json`), or that no answer came. */
export class ApiProblem extends Error {
  /** 0: no answer. */
  readonly status: number
  readonly code: string
  readonly traceId: string | undefined
  /** The scope that the caller lacks, where the API names it. */
  readonly missing: string | undefined
  readonly retryAfterMs: number | undefined

  constructor(status: number, code: string, detail: string, more: Partial<ApiProblem> = {}) {
    super(detail)
    this.status = status
    this.code = code
    this.traceId = more.traceId
    this.missing = more.missing
    this.retryAfterMs = more.retryAfterMs
  }
}

/** Event of the window: an answer failed in a way that may pass. */
export const TROUBLE = 'attribution:trouble'

/** No answer, too many requests, or a service that is not ready. */
const PASSING: ReadonlySet<number> = new Set([0, 429, 502, 503, 504])

/** Whether a failure may pass by itself. */
export const isPassing = ({ status, code }: ApiProblem): boolean => PASSING.has(status) && code !== 'UNEXPECTED'

export interface Asked {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly body?: unknown
  /** In place of a body: a file as it is. */
  readonly file?: { readonly type: string; readonly text: string } | undefined
  /** Of a change: the same for each attempt at it. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

/**
 * Asks the API, with the access token of the person who is signed in.
 *
 * @returns the parsed body; undefined for an empty one
 * @throws ApiProblem
 */
export async function ask<T>(path: string, asked: Asked = {}): Promise<T> {
  const text = await askText(path, asked)
  return (text === '' ? undefined : JSON.parse(text)) as T
}

/** The same, for what is no JSON. */
export async function askText(path: string, asked: Asked = {}): Promise<string> {
  const answer = await send(path, await validAccessToken(), asked)
  // Revoked or expired by the service's clock: once more with a new one.
  const isStale = answer.status === 401 && (await codeOf(answer.clone())) === 'INVALID_CREDENTIALS'
  const last = isStale ? await send(path, await renewAccessToken(await validAccessToken()), asked) : answer
  const text = await last.text()
  if (!last.ok) throw failed(problemOf(last, text))
  return text
}

async function send(path: string, token: string, { method = 'GET', body, file, idempotencyKey, signal }: Asked) {
  const type = file?.type ?? (body === undefined ? undefined : 'application/json')
  const headers = {
    accept: 'application/json',
    authorization: `Bearer ${token}`,
    ...(type !== undefined && { 'content-type': type }),
    ...(method !== 'GET' && { 'idempotency-key': idempotencyKey ?? crypto.randomUUID() }),
  }
  try {
    return await fetch(path, {
      method,
      headers,
      body: file?.text ?? (body === undefined ? null : JSON.stringify(body)),
      signal: signal ?? null,
      credentials: 'omit',
    })
  } catch (cause) {
    if (signal?.aborted === true) throw cause
    throw failed(new ApiProblem(0, 'NO_ANSWER', 'The service does not answer. Check your network.'))
  }
}

function failed(problem: ApiProblem): ApiProblem {
  if (isPassing(problem)) dispatchEvent(new Event(TROUBLE))
  return problem
}

async function codeOf(answer: Response): Promise<string | undefined> {
  try {
    return ((await answer.json()) as { error_code?: string }).error_code
  } catch {
    return undefined
  }
}

type ProblemBody = Partial<Problem>

function problemOf(answer: Response, text: string): ApiProblem {
  let body: ProblemBody = {}
  try {
    body = JSON.parse(text)
  } catch {
    // A proxy in between answered with a page of its own.
  }
  const detail =
    body.errors?.map((each) => each.detail).join(' ') || body.detail || body.title || `HTTP ${answer.status}`
  const retryAfterS = Number(answer.headers.get('retry-after'))
  return new ApiProblem(answer.status, body.error_code ?? '', detail, {
    traceId: body.trace_id,
    missing: /scope="([^"]+)"/.exec(answer.headers.get('www-authenticate') ?? '')?.[1],
    retryAfterMs: retryAfterS > 0 ? retryAfterS * 1_000 : undefined,
  })
}
