import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'

/** A producer of events and a reader of records, over HTTP like any other. */
export interface ServiceClient {
  /** Sends one event until it is taken: a repeat keeps event_id and Idempotency-Key. @returns its invocation id */
  send(event: Readonly<Record<string, unknown>>): Promise<string>
  /** Undefined while there is no such record. */
  find(attributionId: string): Promise<ReplayedRecord | undefined>
  page(limit: number, cursor: string | undefined): Promise<RecordPage>
  close(): Promise<void>
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

export function connectService(baseUrl: string, apiKey: string, connections: number): ServiceClient {
  const pool = new Pool(baseUrl, { connections, headersTimeout: 10_000, bodyTimeout: 10_000 })
  const headers = { 'x-api-key': apiKey }

  const request = async (path: string): Promise<{ status: number; body: string }> => {
    const answer = await pool.request({ path, method: 'GET', headers })
    return { status: answer.statusCode, body: await answer.body.text() }
  }

  return {
    async send(event) {
      const body = JSON.stringify(event)
      const sendHeaders = { ...headers, 'content-type': 'application/json', 'idempotency-key': randomUUID() }
      const startedAt = performance.now()
      for (let attempt = 0; ; attempt++) {
        const answer = await pool
          .request({ path: '/api/v1/invocations', method: 'POST', headers: sendHeaders, body })
          .then(async ({ statusCode, body: text }) => ({ status: statusCode, text: await text.text() }))
          // A connection that was cut: whether the event was taken is not known, and a repeat is safe.
          .catch((cause: Error) => ({ status: 0, text: cause.message }))
        if (answer.status === 202) return (JSON.parse(answer.text) as { invocation_id: string }).invocation_id
        const isPassing = answer.status === 0 || answer.status === 429 || answer.status >= 500
        if (!isPassing || performance.now() - startedAt > GIVE_UP_MS) {
          throw new Error(`an event was refused (${answer.status}): ${answer.text}`)
        }
        await sleep(Math.random() * Math.min(50 * 2 ** attempt, RETRY_MS_MAX))
      }
    },

    async find(attributionId) {
      const { status, body } = await request(`/v1/attribution/${attributionId}`)
      if (status === 200) return JSON.parse(body) as ReplayedRecord
      if (status === 404 || status === 503) return undefined
      throw new Error(`a record could not be read (${status}): ${body}`)
    },

    async page(limit, cursor) {
      const query = cursor === undefined ? `limit=${limit}` : `limit=${limit}&cursor=${cursor}`
      const { status, body } = await request(`/v1/attribution?${query}`)
      if (status !== 200) throw new Error(`records could not be read (${status}): ${body}`)
      return JSON.parse(body) as RecordPage
    },

    close: () => pool.close(),
  }
}
