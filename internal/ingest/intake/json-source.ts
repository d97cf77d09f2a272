import { setImmediate as nextTurn } from 'node:timers/promises'
import type { InvocationEvent } from '../../invocations/invocation-schema.js'
import { type FieldError, type Problem, problem } from '../../problems/problem-catalogue.js'
import { JsonSelector, type Selected, type Wanted } from '../../text/select-json.js'
import { findElements } from '../bulk/array-elements.js'
import { EventRanges, SLICE_BYTES, skipBlanksInTurns } from '../bulk/event-ranges.js'
import { findLines } from '../bulk/ndjson-lines.js'
import type { Admitted, IntakeAnswer, IntakeRequest, IntakeRoute, ReadBody, SourceEvent } from './intake-route.js'
import { asProblemJson } from './problem-json.js'

/** What one payload of a source says. */
export type Mapped =
  | { readonly kind: 'event'; readonly event: SourceEvent['event'] }
  /** It is well-formed, and no call of its own. @param reason a name such as `repeated_call_type` */
  | { readonly kind: 'skipped'; readonly reason: string }
  /** It lacks what an event needs. Pointers are those of the payload; details never hold its values. */
  | { readonly kind: 'rejected'; readonly errors: readonly FieldError[] }

/** A source that sends JSON: how one of its payloads becomes an event. Pure. */
export interface JsonSource {
  /** Its path is `/intake/<name>`. */
  readonly name: string
  /** What is read of a payload; nothing else is ever decoded. */
  readonly wanted: Extract<Wanted, object>
  readonly map: (payload: Selected, request: IntakeRequest) => Mapped
}

/** The fields of an event that the source fills; the others are absent. */
export type PartOfEvent = Partial<SourceEvent['event']> &
  Pick<InvocationEvent, 'event_id' | 'ingestion_layer' | 'ingestion_timestamp' | 'provider' | 'requested_model'>

export const mappedEvent = (event: PartOfEvent): Mapped => ({ kind: 'event', event: event as SourceEvent['event'] })
export const skipped = (reason: string): Mapped => ({ kind: 'skipped', reason })
export const lacks = (pointer: string, detail: string): Mapped => ({ kind: 'rejected', errors: [{ pointer, detail }] })

/**
 * The route of a source: a JSON array, NDJSON or a single object; the body decides, since senders of NDJSON call it
 * `application/json`. A bad payload never refuses the others: most senders drop the whole batch on any failure.
 */
export function jsonRoute({ name, wanted, map }: JsonSource): IntakeRoute {
  const selector = new JsonSelector(wanted)
  return {
    methods: ['POST'],
    intake: name,
    path: `/intake/${name}`,
    writeProblem: asProblemJson,
    async read(body, request) {
      const found = await findPayloads(body)
      if ('code' in found) return { kind: 'refused', problem: found }
      const reading = new Reading()
      let sliceEnd = SLICE_BYTES
      for (let place = 0; place < found.count; place++) {
        const [start, end] = [found.start(place), found.end(place)]
        if (start > sliceEnd) {
          await nextTurn()
          sliceEnd = start + SLICE_BYTES
        }
        const selection = selector.select(body, start, end)
        reading.unknownFields += selection?.unknownMembers ?? 0
        reading.add(place, selection === undefined ? NOT_JSON : map(selection.value, request))
      }
      return reading.end()
    },
  }
}

const NOT_JSON = lacks('', 'must be a JSON object in UTF-8')

/** Payloads that are shown with their errors; the others are counted. */
const SHOWN_MAX = 20

class Reading {
  unknownFields = 0
  private readonly events: SourceEvent[] = []
  private readonly skipped = new Map<string, number>()
  private readonly rejected: { place: number; errors: readonly FieldError[] }[] = []
  private received = 0

  add(place: number, mapped: Mapped): void {
    this.received++
    switch (mapped.kind) {
      case 'event':
        this.events.push({ place, event: mapped.event })
        break
      case 'skipped':
        this.skipped.set(mapped.reason, (this.skipped.get(mapped.reason) ?? 0) + 1)
        break
      case 'rejected':
        this.rejected.push({ place, errors: mapped.errors })
        break
    }
  }

  end(): ReadBody {
    return { kind: 'events', events: this.events, answer: (admitted) => this.answer(admitted) }
  }

  private answer({ accepted, duplicates, rejected }: Admitted): IntakeAnswer {
    const refusedLater = rejected.map(({ place, problem: { errors, detail } }) => ({
      place,
      errors: errors ?? [{ pointer: '', detail }],
    }))
    const all = [...this.rejected, ...refusedLater].sort((one, other) => one.place - other.place)
    const report = {
      received: this.received,
      accepted,
      duplicates,
      skipped: Object.fromEntries(this.skipped),
      rejected: all.length,
      ...(all.length > 0 && {
        rejections: all.slice(0, SHOWN_MAX).map(({ place, errors }) => ({ index: place, errors: errors.slice(0, 5) })),
      }),
      unknown_fields: this.unknownFields,
    }
    return {
      status: 200,
      headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
      body: JSON.stringify(report),
    }
  }
}

const OPEN_ARRAY = 0x5b
const LINE_FEED = 0x0a
const CLOSE_OBJECT = 0x7d

/** Where the payloads of a body begin and end. An empty body holds none: some tools test an address with one. */
async function findPayloads(body: Buffer): Promise<EventRanges | Problem> {
  const ranges = new EventRanges()
  const start = await skipBlanksInTurns(body, 0, body.length)
  if (start === body.length) return ranges
  if (body[start] === OPEN_ARRAY) {
    const found = await findElements(body, start, ranges)
    if (found.kind === 'found') return ranges
    if (found.kind === 'too_many') return TOO_MANY
    return problem('MALFORMED_REQUEST', `The body is not a JSON array: at byte ${found.offset} ${found.reason}.`)
  }
  if (!isFirstLineWhole(body, start)) {
    ranges.add(start, body.length)
    return ranges
  }
  return (await findLines(body, start, ranges)) ? ranges : TOO_MANY
}

/** Whether each line is an object: the first one ends as one does. A single object may be written on many lines. */
function isFirstLineWhole(body: Buffer, start: number): boolean {
  const feed = body.indexOf(LINE_FEED, start)
  let last = (feed < 0 ? body.length : feed) - 1
  while (last > start && (body[last] === 0x20 || body[last] === 0x0d || body[last] === 0x09)) last--
  return body[last] === CLOSE_OBJECT
}

const TOO_MANY = problem('PAYLOAD_TOO_LARGE', 'The body may hold at most 5000 payloads.')
