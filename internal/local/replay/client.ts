import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { rootCertificates } from 'node:tls'
import { type Dispatcher, Pool } from 'undici'

/** A producer of events and a reader of records, over HTTP like any other. */
export interface ServiceClient {
  /** Sends one event until it is taken: a repeat keeps event_id and Idempotency-Key. @returns its invocation id */
  send(event: Readonly<Record<string, unknown>>): Promise<string>
  /** Undefined while there is no such record. */
  find(attributionId: string): Promise<ReplayedRecord | undefined>
  page(limit: number, cursor: string | undefined): Promise<RecordPage>
  close(): Promise<void>
}

export interface HttpServiceClient extends ServiceClient {
  /** Sends a body under a key of its own until the answer is none that passes. */
  post(path: string, mediaType: string, body: string): Promise<Answer>
}

export interface ReplayedRecord {
  readonly id: string
  readonly invocation_id: string
  readonly event_time: string
  readonly service: string
  readonly cost_usd: string
  readonly energy_wh: string
  readonly carbon_gco2e: string
  readonly output_state: string
  readonly cost_basis: string
}

export interface RecordPage {
  readonly data: readonly ReplayedRecord[]
  readonly page: { readonly next_cursor?: string; readonly has_more: boolean }
}

/** From the first attempt of an event; beyond it the service is given up. */
const GIVE_UP_MS = 120_000
const RETRY_MS_MAX = 2_000

/** What TLS says when it does not trust a certificate: as often as it is asked. */
const UNTRUSTED = /CERT|UNABLE_TO_(GET|VERIFY|DECRYPT|DECODE)|INVALID_CA/

/** @param certFile PEM of the service's own certificate, trusted beside those that Node trusts; empty: only these */
export function connectService(baseUrl: string, apiKey: string, connections: number, certFile = ''): HttpServiceClient {
  const connect = certFile === '' ? {} : { ca: [...rootCertificates, readFileSync(certFile, 'utf8')] }
  const pool = new Pool(baseUrl, {
    connections,
    headersTimeout: 10_000,
    bodyTimeout: 10_000,
    // The file may end before its root: what stands in it is trusted itself.
    connect: { ...connect, allowPartialTrustChain: true },
  })
  const credential = { 'x-api-key': apiKey }

  /** Repeats what did not get an answer, or got one that passes (429, 5xx), with a growing, jittered pause. */
  const request = async (
    options: Pick<Dispatcher.RequestOptions, 'path' | 'method' | 'headers' | 'body'>,
  ): Promise<Answer> => {
    const startedAt = performance.now()
    for (let attempt = 0; ; attempt++) {
      const answer = await pool
        .request(options)
        .then(async ({ statusCode, body }) => ({ status: statusCode, body: await body.text() }))
        .catch((cause: NodeJS.ErrnoException) => {
          if (UNTRUSTED.test(cause.code ?? '')) {
            throw new Error(`the certificate of ${baseUrl} is not trusted: ${cause.message}`, { cause })
          }
          // A connection that was cut: whether the request took effect is not known, and a repeat is safe.
          return { status: 0, body: cause.message }
        })
      const isPassing = answer.status === 0 || answer.status === 429 || answer.status >= 500 || isStillRunning(answer)
      if (!isPassing) return answer
      if (performance.now() - startedAt > GIVE_UP_MS) throw new Error(`no answer (${answer.status}): ${answer.body}`)
      await sleep(Math.random() * Math.min(50 * 2 ** attempt, RETRY_MS_MAX))
    }
  }

  const read = async (path: string): Promise<Answer> => request({ path, method: 'GET', headers: credential })

  const post = (path: string, mediaType: string, body: string): Promise<Answer> => {
    const headers = { ...credential, 'content-type': mediaType, 'idempotency-key': randomUUID() }
    return request({ path, method: 'POST', headers, body })
  }

  return {
    post,

    async send(event) {
      const { status, body } = await post('/api/v1/invocations', 'application/json', JSON.stringify(event))
      if (status !== 202) throw new Error(`an event was refused (${status}): ${body}`)
      return (JSON.parse(body) as { invocation_id: string }).invocation_id
    },

    async find(attributionId) {
      const { status, body } = await read(`/v1/attribution/${attributionId}`)
      if (status === 200) return JSON.parse(body) as ReplayedRecord
      if (status === 404) return undefined
      throw new Error(`a record could not be read (${status}): ${body}`)
    },

    async page(limit, cursor) {
      const query = cursor === undefined ? `limit=${limit}` : `limit=${limit}&cursor=${cursor}`
      const { status, body } = await read(`/v1/attribution?${query}`)
      if (status !== 200) throw new Error(`records could not be read (${status}): ${body}`)
      return JSON.parse(body) as RecordPage
    },

    close: () => pool.close(),
  }
}

/** An attempt before this one, whose answer was not waited for, is still at work under the same Idempotency-Key. */
const isStillRunning = ({ status, body }: Answer): boolean =>
  status === 409 && (JSON.parse(body) as { error_code?: string }).error_code === 'IDEMPOTENCY_IN_PROGRESS'

export interface Answer {
  readonly status: number
  readonly body: string
}
