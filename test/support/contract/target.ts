/**
 * The instance under the contract tests: a new one, or an existing production or sandbox instance given by environment:
 *
 *   ATTRIBUTION_CONTRACT_CREDENTIALS=FILE   JSON as `up` writes it: base_url, tenant_id, api_key
 *   ATTRIBUTION_CONTRACT_CASES=N            number of requests; by default 2,000, of which the inner ring draws a tenth
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import type { Credentials } from '../../../internal/local/supervisor/bootstrap.js'
import { newTenantOfProduct } from '../product.js'
import { acknowledge, answerChallenge, launchReceiver, RECEIVER_CERTIFICATE, type Receiver } from '../receiver.js'
import { RUNS_BOTH_RINGS } from '../run/rings.js'
import { type Instance, launchService } from '../service.js'
import type { Answer } from './check-answer.js'
import { type Described, readDescription } from './described.js'

const CASES_OF_A_RUN = 2_000
const wanted = process.env['ATTRIBUTION_CONTRACT_CASES']
export const CASES = Number(wanted ?? CASES_OF_A_RUN / (RUNS_BOTH_RINGS ? 1 : 10))
/** One in so many operations is asked where the environment wants fewer cases. */
export const EVERY_NTH = wanted === undefined ? 1 : Math.max(1, Math.round(CASES_OF_A_RUN / CASES))

export interface Target {
  readonly credentials: Credentials
  readonly described: Described
  /** Undefined for an existing instance. */
  readonly service: Instance | undefined
  /** The address of a webhook endpoint that may be registered and answers challenges. */
  readonly webhookUrl: string
  stop(): Promise<void>
}

/** Limits of a new instance, high because contract tests do not test limits. */
const RATES = ['ingest', 'read', 'report', 'control', 'token'].flatMap((name) => [`--rate-${name}`, '100000'])

/**
 * @param isOwn whether a new instance belongs to the test alone: its webhooks reach a receiver, and it may be filled
 */
export async function openTarget(isOwn = false): Promise<Target> {
  const file = process.env['ATTRIBUTION_CONTRACT_CREDENTIALS']
  const receiver = file === undefined && isOwn ? await launchReceiver() : undefined
  const own =
    receiver &&
    (await launchService({
      roles: ['courier', 'exporter', ...(RUNS_BOTH_RINGS ? (['trainer'] as const) : [])],
      args: [...RATES, ...allowing(receiver)],
    }))
  const service = own ?? (file === undefined ? await newTenantOfProduct() : undefined)
  const credentials = service?.credentials ?? (JSON.parse(readFileSync(file ?? '', 'utf8')) as Credentials)
  const { text } = await send(credentials.base_url, { method: 'GET', path: '/openapi.json' })
  return {
    credentials,
    described: readDescription(JSON.parse(text)),
    service,
    webhookUrl: receiver === undefined ? 'https://example.com/' : `https://127.0.0.1:${receiver.port}/`,
    async stop() {
      await own?.stop()
      await receiver?.close()
    },
  }
}

/** A path of the receiver that does not answer challenges. */
export const UNVERIFIED = 'unverified'

/** Settings that allow webhooks to a receiver of the test. */
function allowing(receiver: Receiver): readonly string[] {
  receiver.answer = (response, received) => {
    const isChallenge = received.json?.type === 'webhook.verification' && received.path !== `/${UNVERIFIED}`
    return isChallenge ? answerChallenge(response, received) : acknowledge(response)
  }
  const caFile = join(mkdtempSync(join(tmpdir(), 'attribution-ca-')), 'ca.pem')
  writeFileSync(caFile, RECEIVER_CERTIFICATE.cert)
  const networks = ['--webhook-allowed-networks', '127.0.0.0/8']
  return [...networks, '--webhook-ports', String(receiver.port), '--webhook-ca-file', caFile]
}

export interface Sent {
  readonly method: string
  /** Including the query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** Number of loopback addresses that share the failed attempts of a test: the rate limit of one takes minutes. */
const ADDRESSES = 200
// Without keep-alive: the instance closes an idle connection, and a request on it would fail.
const agents = Array.from(
  { length: ADDRESSES },
  (_, i) => new Agent({ localAddress: `127.0.0.${i + 1}`, pipelining: 0 }),
)
let requests = 0
const isLoopback = (baseUrl: string): boolean => new URL(baseUrl).hostname === '127.0.0.1'

/** Sends a request. */
export async function send(baseUrl: string, sent: Sent): Promise<Answer> {
  const { method, path, headers = {}, body } = sent
  const answer = await request(baseUrl + path, {
    method: method as 'GET',
    headers,
    ...(isLoopback(baseUrl) && { dispatcher: agents[requests++ % ADDRESSES] as Agent }),
    ...(body === undefined ? {} : { body }),
  })
  const text = await answer.body.text()
  const found = new Map(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]))
  return { status: answer.statusCode, headers: found, text }
}
