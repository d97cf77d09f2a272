import type { Caller } from '../../auth/authenticate.js'
import type { EventParts } from '../../invocations/event-writer.js'
import type { Problem } from '../../problems/problem-catalogue.js'
import type { ProblemContext } from '../../problems/render.js'
import type { BodyCopy } from '../bodies/body-copy.js'
import type { GrowingBytes } from '../bodies/growing-bytes.js'
import type { Tally } from '../received/tally.js'

/**
 * What others send: one route per source. The listener authenticates, limits, reads and unpacks the body; the route's
 * `read` says which events the body holds; the listener admits them; the route's `answer` says what came of it.
 *
 *     (what is kept of the body, content type, caller) -> read -> { events, answer } -> admission -> answer(admitted)
 *
 * A route is pure: it has no clock, no log and no network. It must not keep or return anything of a call's content.
 */
export interface IntakeRoute {
  readonly methods: readonly ('POST' | 'PUT')[]
  /** What its records say they came through: `otlp`, `litellm`, ... */
  readonly intake: string
  /** Compared as a whole. */
  readonly path: string
  /** Its senders write tags as such, in the form of our own events: all are kept (`kept-tags.ts`). */
  readonly keepsTags?: true | undefined
  /**
   * Leaves out of a body as it comes what `read` would pass over; absent where all of it is kept.
   *
   * @returns a problem for a body that `read` would refuse by its type
   */
  readonly copy?: (request: Pick<IntakeRequest, 'contentType' | 'caller'>, kept: GrowingBytes) => BodyCopy | Problem
  /**
   * Runs on the event loop: long bodies are to be read in slices.
   *
   * @param copy how the body came, if it is what is left of one
   */
  readonly read: (body: Buffer, request: IntakeRequest, copy?: BodyCopy) => ReadBody | Promise<ReadBody>
  /** How a refusal is written: of the credential, the limits, the body, or while the log takes no events. */
  readonly writeProblem: (problem: Problem, request: RefusedRequest) => IntakeAnswer
}

export interface IntakeRequest {
  /** As it was sent, '' when absent. The body is unpacked already. */
  readonly contentType: string
  readonly caller: Pick<Caller, 'tenantId' | 'isGateway' | 'billing'> & {
    /** What the tenant trusts its gateways with that callers could write, of this source. Absent: nothing. */
    readonly trustedFields?: readonly string[] | undefined
  }
  readonly receivedAtMs: number
  /** Any other header, '' when absent. @param name in lower case */
  readonly header: (name: string) => string
}

export type ReadBody =
  | {
      readonly kind: 'events'
      /** At most `INTAKE_EVENTS_MAX`; more are refused whole. Admission empties the list: `answer` has none of them. */
      readonly events: SourceEvent[]
      /** Who sent it: each with what of it is no event, and why. What becomes of the events is added. */
      readonly senders: readonly Tally[]
      /** Whether the body holds spans of this product: a span of the request would be the next one. */
      readonly hasOwnSpans?: boolean
      /** The answer once the log, or the spool, holds every event that was accepted. */
      readonly answer: (admitted: Admitted) => IntakeAnswer
    }
  | { readonly kind: 'refused'; readonly problem: Problem }

/** An event of a source in our own form. */
export interface SourceEvent {
  /** Its place in the source's body, from 0: answers name events by it. */
  readonly place: number
  /** Undefined members are left out. `event_id` is `eventIdOf` the source's own id: a repeat is a duplicate. */
  readonly event: EventParts
  /**
   * False: its cost is known to leave a part out, and counts no more than that of a sender who is not trusted with it.
   */
  readonly trustsCost?: false
  /** One of the body's senders. */
  readonly sender: Tally
}

export interface Admitted {
  /** New events. */
  readonly accepted: number
  /** Events that were accepted before. */
  readonly duplicates: number
  /**
   * Events that break a rule of the event's schema, or that the credential may not send. Never holds a value of the
   * event.
   */
  readonly rejected: readonly { readonly place: number; readonly problem: Problem }[]
}

export interface RefusedRequest extends ProblemContext {
  readonly contentType: string
}

export interface IntakeAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/** Events of one request. A collector's largest usual batch of spans, 8,192, fits. */
export const INTAKE_EVENTS_MAX = 20_000
