import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { rootCertificates } from 'node:tls'
import { type Dispatcher, Pool } from 'undici'

/** A client of the HTTP API that sends events and reads records. */
export interface ServiceClient {
  /** Sends one event until it is accepted; retries keep event_id and Idempotency-Key. @returns its invocation id */
  send(event: Readonly<Record<string, unknown>>): Promise<string>
  /** Undefined while the record does not exist. */
  find(attributionId: string): Promise<ReplayedRecord | undefined>
  page(limit: number, cursor: string | undefined): Promise<RecordPage>
  close(): Promise<void>
}

export interface HttpServiceClient extends ServiceClient {
  /** Sends a body with an Idempotency-Key of its own, and retries while the answer is transient. */
  post(path: string, mediaType: string, body: string): Promise<Answer>
  /** Sends a body that states the whole result, and retries likewise. */
  put(path: string, mediaType: string, body: string): Promise<Answer>
  get(path: string): Promise<Answer>
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

/** Retries of a request stop this long after its first attempt. */
const GIVE_UP_MS = 120_000
const RETRY_MS_MAX = 2_000

/** TLS errors of an untrusted certificate, which no retry changes. */
const UNTRUSTED = /CERT|UNABLE_TO_(GET|VERIFY|DECRYPT|DECODE)|INVALID_CA/

/**
 * @param certFile PEM of the service's certificate, trusted in addition to Node's authorities; empty: none
 * @param limits `answerMsMax`, after which a request counts as unanswered and is sent again; `giveUpMs`, after which it
 * is not
 */
export function connectService(
  baseUrl: string,
  apiKey: string,
  connections: number,
  certFile = '',
  { answerMsMax = 10_000, giveUpMs = GIVE_UP_MS }: { readonly answerMsMax?: number; readonly giveUpMs?: number } = {},
): HttpServiceClient {
  const connect = certFile === '' ? {} : { ca: [...rootCertificates, readFileSync(certFile, 'utf8')] }
  const pool = new Pool(baseUrl, {
    connections,
    headersTimeout: answerMsMax,
    bodyTimeout: answerMsMax,
    // The chain in the file may lack its root: then its certificates are themselves trusted.
    connect: { ...connect, allowPartialTrustChain: true },
  })
  const credential = { 'x-api-key': apiKey }

  /**
   * Retries a request without an answer, or with a transient one (429, 5xx), with growing, jittered pauses. Gives the
   * last answer when it gives up.
   *
   * @throws Error when there was no answer until then
   */
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
          // The connection was cut: the request may have taken effect, and a retry is safe.
          return { status: 0, body: cause.message }
        })
      const isPassing = answer.status === 0 || answer.status === 429 || answer.status >= 500 || isStillRunning(answer)
      if (!isPassing) return answer
      if (performance.now() - startedAt > giveUpMs) {
        if (answer.status === 0) throw new Error(`no answer: ${answer.body}`)
        return answer
      }
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
    get: read,
    put: (path, mediaType, body) =>
      request({ path, method: 'PUT', headers: { ...credential, 'content-type': mediaType }, body }),

    async send(event) {
      const { status, body } = await post('/api/v1/invocations', 'application/json', JSON.stringify(event))
      if (status !== 202) throw new Error(`an event was not accepted (${status}): ${body}`)
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

/** An earlier attempt with the same Idempotency-Key, which timed out here, is still in flight in the service. */
const isStillRunning = ({ status, body }: Answer): boolean =>
  status === 409 && (JSON.parse(body) as { error_code?: string }).error_code === 'IDEMPOTENCY_IN_PROGRESS'

export interface Answer {
  readonly status: number
  readonly body: string
}
