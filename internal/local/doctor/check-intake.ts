import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, HttpServiceClient } from '../replay/client.js'
import { type Finding, failure, ok } from './finding.js'

/** Whether what a gateway sends becomes a record: a probe is sent to the intake port and followed to its record. */

export type Client = Pick<HttpServiceClient, 'get' | 'post'>

/** The service of the probe's record. It costs nothing: it says that the caller's own cache answered. */
const PROBE_SERVICE = 'attribution-doctor'
const POLL_EVERY_MS = 200

/**
 * Checks one after the other, up to the first that fails.
 *
 * @param recordMsMax how long the probe's record is waited for
 */
export async function* checkIntake(api: Client, intake: Client, recordMsMax = 30_000): AsyncGenerator<Finding> {
  const traceId = randomBytes(16).toString('hex')
  const checks = [
    () => checkApi(api),
    () => checkCredential(api),
    () => sendProbe(intake, traceId),
    () => followProbe(api, traceId, recordMsMax),
  ]
  for (const check of checks) {
    const found = await check()
    yield found
    if (found.status !== 'ok') return
  }
}

/** Undefined when nothing answers. */
async function asked(request: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await request
  } catch {
    return undefined
  }
}

async function checkApi(api: Client): Promise<Finding> {
  const answer = await asked(api.get('/readyz'))
  if (answer === undefined) return failure('api', 'no answer: is the service running, and is this its address?')
  return answer.status === 200
    ? ok('api', 'the API answers and is ready')
    : failure('api', `the API is not ready (${answer.status}): \`attribution doctor --data-dir <folder>\` says why`)
}

async function checkCredential(api: Client): Promise<Finding> {
  const answer = await asked(api.get('/api/v1/rate-limit'))
  if (answer?.status === 200) return ok('credential', 'the API key is valid')
  return failure(
    'credential',
    `the API answers ${statusOf(answer)}: the key is wrong, expired, revoked or of another instance`,
  )
}

async function sendProbe(intake: Client, traceId: string): Promise<Finding> {
  const probe = {
    specversion: '1.0',
    id: randomUUID(),
    source: 'attribution doctor',
    type: 'model.call',
    data: {
      ingestion_layer: 'gateway',
      ingestion_timestamp: new Date().toISOString(),
      provider: PROBE_SERVICE,
      requested_model: PROBE_SERVICE,
      attributed_service: PROBE_SERVICE,
      served_from_cache: true,
      trace_id: traceId,
    },
  }
  const answer = await asked(intake.post('/intake/cloudevents', 'application/json', JSON.stringify(probe)))
  if (answer === undefined) {
    return failure(
      'intake',
      'nothing answers on the intake port: another process has it, --intake-port is 0, or the address is another',
    )
  }
  if (answer.status === 404) return failure('intake', 'the address is that of the API, not of the intake port')
  if (answer.status !== 200) return failure('intake', `the intake port answers ${answer.status}`)
  const { accepted, rejections = [] } = JSON.parse(answer.body) as {
    readonly accepted?: number
    readonly rejections?: readonly {
      readonly errors?: readonly { readonly pointer: string; readonly detail: string }[]
    }[]
  }
  if (accepted === 1) return ok('intake', 'the intake port has accepted a probe')
  const reasons = rejections.flatMap(({ errors = [] }) => errors.map(({ pointer, detail }) => `${pointer} ${detail}`))
  return failure(
    'intake',
    `the probe was rejected: ${reasons.join('; ') || 'may the key send the layer gateway (ingestion_layers)?'}`,
  )
}

async function followProbe(api: Client, traceId: string, recordMsMax: number): Promise<Finding> {
  const startedAt = performance.now()
  for (;;) {
    const answer = await asked(api.get(`/v1/attribution?limit=1&filter[trace_id][eq]=${traceId}`))
    if (answer?.status === 403) {
      return failure(
        'record',
        'the key lacks the scope read:attribution: the probe was accepted, and cannot be followed',
      )
    }
    const record = answer?.status === 200 ? firstIn(answer.body) : undefined
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    if (record !== undefined) {
      const { id, service, interpretation } = record
      return ok(
        'record',
        `${id} after ${seconds} s: ${service}, ${interpretation.evidence_basis}, ${interpretation.confidence}`,
      )
    }
    if (performance.now() - startedAt > recordMsMax) {
      return failure(
        'record',
        `no record after ${seconds} s (last answer ${statusOf(answer)}): do the attributors run, and is the log ` +
          'quarantined?',
      )
    }
    await sleep(POLL_EVERY_MS)
  }
}

const statusOf = (answer: Answer | undefined): string => (answer === undefined ? 'nothing' : String(answer.status))

interface ProbeRecord {
  readonly id: string
  readonly service: string
  readonly interpretation: { readonly evidence_basis: string; readonly confidence: number }
}

const firstIn = (body: string): ProbeRecord | undefined =>
  (JSON.parse(body) as { readonly data: readonly ProbeRecord[] }).data[0]
