/** A second gateway of a running instance, and requests to one gateway or the other. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Agent } from 'undici'
import { type Launched, launch } from './processes.js'
import { gatewayEnvironment, type Instance } from './service.js'

const GATEWAY_MAIN = fileURLToPath(new URL('../../dist/cmd/gateway/main.js', import.meta.url))

/** Uses its own port, so that a test can choose the gateway. Resolves once it listens. */
export async function launchGateway(
  service: Instance,
  port: number,
  environment: Record<string, string> = {},
  args: readonly string[] = ['--intake-port', '0'],
): Promise<Launched> {
  const process = launch(GATEWAY_MAIN, {
    args: ['--port', String(port), '--data-dir', join(service.dataDir, 'second'), ...args],
    env: { ...gatewayEnvironment(service), ...environment },
  })
  await process.line(/"listening"/)
  return process
}

/** An event in its wire form, with an id of its own. */
export const wireEvent = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
  event_id: randomUUID(),
  ingestion_layer: 'application',
  ingestion_timestamp: '2026-11-21T09:30:00Z',
  provider: 'openai',
  requested_model: 'gpt-4o-mini',
  input_tokens: 100,
  output_tokens: 10,
  attributed_service: 'search',
  ...fields,
})

export interface Posted {
  readonly status: number
  readonly isReplay: boolean
  readonly text: string
  readonly headers: Headers
}

/** Posts a body to a path that accepts mutations. */
export async function postTo(
  address: string,
  apiKey: string,
  body: string | Buffer,
  key: string | undefined,
  headers: Record<string, string> = {},
): Promise<Posted> {
  const own = { 'x-api-key': apiKey, 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) }
  const answer = await fetch(address, { method: 'POST', body, headers: { ...own, ...headers } })
  return {
    status: answer.status,
    isReplay: answer.headers.get('idempotency-replayed') === 'true',
    text: await answer.text(),
    headers: answer.headers,
  }
}

/**
 * Sends an event to the gateway on a port of this machine. @returns undefined when the connection was cut: the outcome
 * is unknown
 */
export const sendTo = (agent: Agent, port: number, apiKey: string, body: string, key: string) =>
  agent
    .request({
      origin: `http://127.0.0.1:${port}`,
      path: '/api/v1/invocations',
      method: 'POST',
      body,
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json', 'idempotency-key': key },
    })
    .then(async (got) => ({ status: got.statusCode, headers: got.headers, text: await got.body.text() }))
    .catch(() => undefined)
