/**
 * The instance under the contract tests: a new one, or one that is named from outside, in production or a sandbox:
 *
 *   ATTRIBUTION_CONTRACT_CREDENTIALS=FILE   JSON as `up` writes it: base_url, tenant_id, api_key
 *   ATTRIBUTION_CONTRACT_CASES=N            requests that are fired, 2,000 by default
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import type { Credentials } from '../../../internal/local/supervisor/bootstrap.js'
import { acknowledge, answerChallenge, launchReceiver, RECEIVER_CERTIFICATE, type Receiver } from '../receiver.js'
import { launchService, type RunningService } from '../service.js'
import type { Answer } from './check-answer.js'
import { type Described, readDescription } from './described.js'

export const CASES = Number(process.env['ATTRIBUTION_CONTRACT_CASES'] ?? 2_000)

export interface Target {
  readonly credentials: Credentials
  readonly described: Described
  /** Undefined for an instance from outside. */
  readonly service: RunningService | undefined
  /** The address of a webhook endpoint that may be registered and answers challenges. */
  readonly webhookUrl: string
  stop(): Promise<void>
}

/** Limits of a new instance: contract tests are about everything else. */
const RATES = ['ingest', 'read', 'report', 'control', 'token'].flatMap((name) => [`--rate-${name}`, '100000'])

export async function openTarget(): Promise<Target> {
  const file = process.env['ATTRIBUTION_CONTRACT_CREDENTIALS']
  const receiver = file === undefined ? await launchReceiver() : undefined
  const service = receiver && (await launchService({ args: [...RATES, ...allowing(receiver)] }))
  const credentials = service?.credentials ?? (JSON.parse(readFileSync(file ?? '', 'utf8')) as Credentials)
  const { text } = await send(credentials.base_url, { method: 'GET', path: '/openapi.json' })
  return {
    credentials,
    described: readDescription(JSON.parse(text)),
    service,
    webhookUrl: receiver === undefined ? 'https://example.com/' : `https://127.0.0.1:${receiver.port}/`,
    async stop() {
      await service?.stop()
      await receiver?.close()
    },
  }
}

/** Settings by which a receiver of the test may be called. */
function allowing(receiver: Receiver): readonly string[] {
  receiver.answer = (response, received) =>
    received.json.type === 'webhook.verification' ? answerChallenge(response, received) : acknowledge(response)
  const caFile = join(mkdtempSync(join(tmpdir(), 'attribution-ca-')), 'ca.pem')
  writeFileSync(caFile, RECEIVER_CERTIFICATE.cert)
  const networks = ['--webhook-allowed-networks', '127.0.0.0/8']
  return [...networks, '--webhook-ports', String(receiver.port), '--webhook-ca-file', caFile]
}

export interface Sent {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** Sends a request, and waits when it is told to come again: a limit is no fault. */
export async function send(baseUrl: string, sent: Sent): Promise<Answer> {
  const { method, path, headers = {}, body } = sent
  const answer = await request(baseUrl + path, {
    method: method as 'GET',
    headers,
    ...(body === undefined ? {} : { body }),
  })
  const text = await answer.body.text()
  const found = new Map(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]))
  return { status: answer.statusCode, headers: found, text }
}
