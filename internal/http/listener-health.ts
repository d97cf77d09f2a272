/** `/healthz` and `/readyz` of the listeners beside the API. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { problem } from '../problems/problem-catalogue.js'
import { renderProblem } from '../problems/render.js'
import type { ReadinessOf } from './health.js'
import { traceIdOf } from './trace-id.js'

export interface ListenerHealth {
  readonly readiness: () => ReturnType<ReadinessOf>
  readonly errorDocsUrl: string
}

/** What HAProxy asks by its plain `option httpchk`. */
const BARE_PATHS: readonly unknown[] = ['/', '*']

/** @returns whether the request was about the listener's health, and is answered */
export function answerHealth(message: IncomingMessage, response: ServerResponse, health: ListenerHealth): boolean {
  const path = message.url?.replace(/\?.*$/s, '')
  const isBare = message.method === 'OPTIONS' && BARE_PATHS.includes(path)
  if (path !== '/healthz' && path !== '/readyz' && !isBare) return false
  const isAsked = isBare || message.method === 'GET' || message.method === 'HEAD'
  const answer = isAsked
    ? answerTo(path, health)
    : problem('METHOD_NOT_ALLOWED', 'Ask with GET.', { allow: 'GET, HEAD' })
  // Of a body that nobody reads.
  message.resume()
  if (!('code' in answer)) {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
    response.end(JSON.stringify(answer))
    return true
  }
  const { errorDocsUrl } = health
  const traceId = traceIdOf(String(message.headers['traceparent'] ?? ''))
  const { status, headers, body } = renderProblem(answer, {
    instance: path ?? '',
    traceId,
    tenantId: null,
    errorDocsUrl,
  })
  response.writeHead(Number.parseInt(status, 10), Object.fromEntries(headers))
  response.end(body)
  return true
}

const answerTo = (path: string | undefined, { readiness }: ListenerHealth) =>
  path === '/healthz' ? { status: 'ok' } : readiness()
