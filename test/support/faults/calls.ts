/**
 * The producers of a run: each event has a cost of its own, so that a record names its event without any id of the
 * service. They send single events and bulk, repeat both, give up on some, and note what they were told.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { type Random, seededRandom } from '../../../internal/local/sandbox/random.js'
import { wireEvent } from '../gateway.js'

export interface TenantAccess {
  readonly id: string
  readonly apiKey: string
}

/** What is known about an event that was sent. */
export interface SentEvent {
  /** From 1, over all tenants; the last digits of its cost. */
  readonly serial: number
  /** Index of the tenant. */
  readonly tenant: number
  readonly eventId: string
  readonly costUsd: string
  /** The invocation ids that answers with 202 gave. */
  readonly told: Set<string>
  /** Whether any request with it went without an answer, or got a 5xx: it may have a record. */
  isUnclear: boolean
  /** When it went where, and what was answered: for a failure. */
  readonly history: string[]
}

/** USD of the event with this serial: near the price of its tokens, so that it is believed. */
export const costOf = (serial: number): string => `${COST_START}${String(serial).padStart(SERIAL_DIGITS, '0')}`
const COST_START = '0.000021'
const SERIAL_DIGITS = 6

/** The event of a record's cost; undefined if no event can have it. */
export function serialOf(costUsd: string): number | undefined {
  const digits = costUsd.startsWith(COST_START) ? costUsd.slice(COST_START.length) : undefined
  return digits === undefined || !/^\d{0,6}$/.test(digits) ? undefined : Number(digits.padEnd(SERIAL_DIGITS, '0'))
}

export interface Calls {
  readonly events: readonly SentEvent[]
  /** Answers that nobody should get. */
  readonly unexpected: readonly string[]
  /** How often each answer came. */
  readonly answers: ReadonlyMap<string, number>
  /** Sends until the signal aborts; resolves when every request has its last answer. */
  send(signal: AbortSignal): Promise<void>
}

export interface CallsOptions {
  readonly seed: string
  readonly urls: readonly string[]
  readonly tenants: readonly TenantAccess[]
  readonly eventsPerSecond: number
  readonly repeats?: Repeats
}

export interface Repeats {
  /** Of all requests. */
  readonly share: number
  /** A repeat is of one of the last so many requests. */
  readonly among: number
}

/** So that answers which never come are noticed before the test ends. */
const ANSWER_MS_MAX = 8_000
const IN_FLIGHT_MAX = 200
const TICK_MS = 25
/** So few that some are still under way. */
const REPEATS: Repeats = { share: 0.15, among: 60 }
const BULK_MAX = 20
/** After the end of the load, a request is repeated no longer than this. */
const PATIENCE_MS = 60_000
/** Come again: each says that, or that the outcome is not known. */
const PASSING = new Set([409, 429, 500, 502, 503, 504])

interface Request {
  readonly tenant: number
  readonly events: readonly SentEvent[]
  readonly body: string
  readonly key: string
  /** The producer gives up after so many attempts. */
  readonly attemptsMax: number
}

export function openCalls(options: CallsOptions): Calls {
  const { seed, urls, tenants, eventsPerSecond, repeats = REPEATS } = options
  const random = seededRandom(`calls ${seed}`)
  const agent = new Agent({ connections: IN_FLIGHT_MAX, headersTimeout: ANSWER_MS_MAX, bodyTimeout: ANSWER_MS_MAX })
  const events: SentEvent[] = []
  const unexpected: string[] = []
  const answers = new Map<string, number>()
  const beganAt = performance.now()
  const now = (): number => Math.round(performance.now() - beganAt)
  let patienceUntil = Number.POSITIVE_INFINITY

  const newEvent = (tenant: number): SentEvent => {
    const serial = events.length + 1
    const event: SentEvent = {
      ...{ serial, tenant, eventId: uuid(random), costUsd: costOf(serial) },
      ...{ told: new Set<string>(), isUnclear: false, history: [] },
    }
    events.push(event)
    return event
  }
  const requestOf = (tenant: number, of: readonly SentEvent[], hasOtherTrace = false): Request => {
    const bodies = of.map((event) => {
      // Of five, one call names no service, and is of the trace of the call before it.
      const isSilent = event.serial % 5 === 0
      const first = isSilent ? (events[event.serial - 2] as SentEvent) : event
      return bodyOf(event, hasOtherTrace ? uuid(random) : first.eventId, isSilent)
    })
    return {
      ...{ tenant, events: of, key: uuid(random) },
      body: JSON.stringify(bodies.length === 1 ? bodies[0] : bodies),
      attemptsMax: random.happens(0.1) ? 1 : Number.POSITIVE_INFINITY,
    }
  }

  const attempt = async (request: Request, url: string): Promise<'done' | 'again'> => {
    const sentAt = now()
    const answer = await post(agent, url, tenants[request.tenant] as TenantAccess, request)
    const word = answer === undefined ? 'no answer' : String(answer.status)
    answers.set(word, (answers.get(word) ?? 0) + 1)
    const duplicates = answer?.text.includes('"duplicate":true') ? ', duplicate' : ''
    const line =
      `${sentAt} to ${now()} ms, ${url}, ${request.events.length === 1 ? 'single' : 'bulk'}, key ` +
      `${request.key.slice(0, 8)}: ${word}${duplicates}`
    for (const event of request.events) event.history.push(line)
    if (answer?.status === 202) {
      noteAccepted(request, answer.text, unexpected)
      return 'done'
    }
    if (answer === undefined || answer.status >= 500 || answer.status === 409) {
      for (const event of request.events) event.isUnclear = true
    } else if (!PASSING.has(answer.status)) {
      unexpected.push(`${line} ${answer.text.slice(0, 400)}`)
      return 'done'
    }
    return 'again'
  }

  const deliver = async (request: Request): Promise<void> => {
    for (let attempts = 1; ; attempts++) {
      const url = random.pick(urls)
      if ((await attempt(request, url)) === 'done') return
      if (attempts >= request.attemptsMax || performance.now() > patienceUntil) return
      await sleep(random.whole(20, Math.min(1_000, 50 * 2 ** attempts)))
    }
  }

  const recent: Request[] = []
  const next = (): Request => {
    const before = recent.length > 0 && random.happens(repeats.share) ? random.pick(recent) : undefined
    if (before !== undefined) {
      // The same request again; or its events under a new key, with another trace.
      return random.happens(0.5) ? { ...before, attemptsMax: 1 } : requestOf(before.tenant, before.events, true)
    }
    const tenant = random.whole(0, tenants.length - 1)
    const count = random.happens(0.05) ? random.whole(2, BULK_MAX) : 1
    const request = requestOf(
      tenant,
      Array.from({ length: count }, () => newEvent(tenant)),
    )
    recent.push(request)
    if (recent.length > repeats.among) recent.shift()
    return request
  }

  return {
    events,
    unexpected,
    answers,
    async send(signal) {
      const underWay = new Set<Promise<void>>()
      const startedAt = performance.now()
      let sent = 0
      while (!signal.aborted) {
        const elapsed = performance.now() - startedAt
        while (sent < (elapsed * eventsPerSecond) / 1_000) {
          // What cannot be sent now is not made up for later: the load stays even.
          if (underWay.size >= IN_FLIGHT_MAX) {
            sent = (elapsed * eventsPerSecond) / 1_000
            break
          }
          const request = next()
          sent += request.events.length
          const delivered = deliver(request).finally(() => underWay.delete(delivered))
          underWay.add(delivered)
        }
        await sleep(TICK_MS)
      }
      patienceUntil = performance.now() + PATIENCE_MS
      await Promise.all(underWay)
      await agent.close()
    },
  }
}

/** A person of ten and a service of four, so that no report folds them. */
function bodyOf({ serial, eventId, costUsd }: SentEvent, traceId: string, isSilent: boolean): Record<string, unknown> {
  return wireEvent({
    event_id: eventId,
    ingestion_timestamp: new Date().toISOString(),
    estimated_cost_usd: costUsd,
    attributed_identity: `person-${serial % 10}`,
    attributed_service: isSilent ? undefined : `service-${serial % 4}`,
    trace_id: traceId,
  })
}

interface Told {
  readonly invocation_id?: string
  readonly results?: readonly { readonly invocation_id?: string }[]
}

function noteAccepted({ events }: Request, text: string, unexpected: string[]): void {
  const told = JSON.parse(text) as Told
  const ids = told.results?.map(({ invocation_id }) => invocation_id) ?? [told.invocation_id]
  for (const [i, event] of events.entries()) {
    const id = ids[i]
    if (id === undefined) unexpected.push(`a 202 without an invocation id for ${event.eventId}: ${text.slice(0, 400)}`)
    else event.told.add(id)
  }
}

/** @returns undefined when the outcome is unknown */
const post = (agent: Agent, origin: string, { apiKey }: TenantAccess, { body, key }: Request) =>
  agent
    .request({
      origin,
      path: '/api/v1/invocations',
      method: 'POST',
      body,
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json', 'idempotency-key': key },
    })
    .then(async ({ statusCode, body: answer }) => ({ status: statusCode, text: await answer.text() }))
    .catch(() => undefined)

function uuid(random: Random): string {
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => random.whole(0, 15).toString(16)).join('')
  return `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`
}
