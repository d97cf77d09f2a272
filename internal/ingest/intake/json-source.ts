import type { InvocationEvent } from '../../invocations/invocation-schema.js'
import { type FieldError, problem } from '../../problems/problem-catalogue.js'
import { ownTurn } from '../../process/own-turn.js'
import {
  ByReader,
  InText,
  JsonSelector,
  type Selected,
  type Wanted,
  type WantedMembers,
} from '../../text/select-json.js'
import { GrowingBytes } from '../bodies/growing-bytes.js'
import type { Kept, KeptMembers } from '../bodies/json-copy.js'
import { JsonObjects, PAYLOADS_MAX } from '../bodies/json-objects.js'
import { SLICE_BYTES } from '../bulk/event-ranges.js'
import { tellingName } from '../received/field-names.js'
import { senderByUserAgent } from '../received/sender.js'
import { invalid, Tally } from '../received/tally.js'
import type { Admitted, IntakeAnswer, IntakeRequest, IntakeRoute, ReadBody, SourceEvent } from './intake-route.js'
import { asProblemJson } from './problem-json.js'

/** What one payload of a source says. */
export type Mapped =
  | { readonly kind: 'event'; readonly event: SourceEvent['event'] }
  /** It shows several calls, each of its own `event_id`. */
  | { readonly kind: 'events'; readonly events: readonly SourceEvent['event'][] }
  /** It is well-formed, and no call of its own. @param reason a name such as `repeated_call_type` */
  | { readonly kind: 'skipped'; readonly reason: string }
  /** It lacks what an event needs. Pointers are those of the payload; details never hold its values. */
  | { readonly kind: 'rejected'; readonly errors: readonly FieldError[] }

/** A source that sends JSON: how one of its payloads becomes an event. Pure. */
export interface JsonSource {
  /** Its path is `/intake/<name>`. */
  readonly name: string
  /** What is read of a payload; nothing else is ever decoded. */
  readonly wanted: WantedMembers
  readonly map: (payload: Selected, request: IntakeRequest) => Mapped
  readonly keepsTags?: IntakeRoute['keepsTags']
}

/** The fields of an event that the source fills; the others are absent. */
export type PartOfEvent = Partial<SourceEvent['event']> &
  Pick<InvocationEvent, 'event_id' | 'ingestion_layer' | 'ingestion_timestamp' | 'provider' | 'requested_model'>

export const mappedEvent = (event: PartOfEvent): Mapped => ({ kind: 'event', event: event as SourceEvent['event'] })
/** One event is mapped as such. */
export const mappedEvents = (events: readonly PartOfEvent[]): Mapped => {
  const [first, ...others] = events as readonly SourceEvent['event'][]
  return first !== undefined && others.length === 0
    ? { kind: 'event', event: first }
    : { kind: 'events', events: events as readonly SourceEvent['event'][] }
}
export const skipped = (reason: string): Mapped => ({ kind: 'skipped', reason })
export const lacks = (pointer: string, detail: string): Mapped => ({ kind: 'rejected', errors: [{ pointer, detail }] })

/**
 * The route of a source: the objects of a body in whatever form, since senders of NDJSON call it `application/json`. A
 * bad payload never refuses the others, wherever it is: most senders drop the whole batch on any failure.
 */
export function jsonRoute({ name, wanted, map, keepsTags }: JsonSource): IntakeRoute {
  const selector = new JsonSelector(wanted)
  const form = keptOf(wanted)
  return {
    methods: ['POST'],
    intake: name,
    path: `/intake/${name}`,
    keepsTags,
    writeProblem: asProblemJson,
    copy: ({ contentType }, kept) => (isJsonType(contentType) ? new JsonObjects(kept, form) : OTHER_TYPE),
    async read(body, request, copy) {
      const found = copy instanceof JsonObjects ? copy : copyOf(body, form)
      if (found.count > PAYLOADS_MAX) return { kind: 'refused', problem: TOO_MANY }
      const { bytes } = found.kept
      const reading = new Reading(new Tally(senderByUserAgent(request.header('user-agent'), 'gateway')))
      let sliceEnd = SLICE_BYTES
      for (let place = 0; place < found.count; place++) {
        const [start, end] = [found.starts[place] as number, found.ends[place] as number]
        if (start > sliceEnd || place % PAYLOADS_PER_TURN === PAYLOADS_PER_TURN - 1) {
          await ownTurn()
          sliceEnd = start + SLICE_BYTES
        }
        const selection = selector.select(
          bytes,
          start,
          end,
          reading.sender.wantsFields() ? reading.noteField : undefined,
        )
        reading.unknownFields += selection?.unknownMembers ?? 0
        reading.add(place, selection === undefined ? NOT_JSON : map(selection.value, request))
      }
      return reading.end()
    },
  }
}

/** JSON and NDJSON by any name; or none, or the default of an HTTP client: what the body holds decides. */
function isJsonType(contentType: string): boolean {
  const type = (contentType.split(';', 1)[0] as string).trim().toLowerCase()
  return JSON_NAME.test(type) || DEFAULT_NAMES.has(type)
}
const JSON_NAME = /^(?:application|text)\/(?:[\w.-]+\+)?(?:x-)?(?:nd-?)?json(?:-?l|-?lines|-seq)?$/
const DEFAULT_NAMES: ReadonlySet<string> = new Set(['', 'text/plain', 'application/x-www-form-urlencoded'])
const OTHER_TYPE = problem('UNSUPPORTED_MEDIA_TYPE', 'Send JSON or NDJSON with Content-Type application/json.')

function copyOf(body: Buffer, form: KeptMembers): JsonObjects {
  const copy = new JsonObjects(new GrowingBytes(), form)
  copy.write(body)
  copy.end()
  return copy
}

/** What of a payload is copied: all that the selector would read of it. */
function keptOf(wanted: WantedMembers): KeptMembers {
  const { '*': others, ...listed } = wanted
  const members = new Map<string, Kept>()
  for (const [name, value] of Object.entries(listed)) {
    if (value === 'value' || value === 'digits') members.set(name, 'scalar')
    else if (value !== 'skip') members.set(name, isMembers(value) ? keptOf(value) : 'all')
  }
  return { members, ...(isMembers(others) && { others: { ...keptOf(others), isOfOthers: true } }) }
}

const isMembers = (wanted: Wanted | undefined): wanted is WantedMembers =>
  typeof wanted === 'object' && !(wanted instanceof InText) && !(wanted instanceof ByReader)

/** Of a few bytes each, that are read before others have their turn. */
const PAYLOADS_PER_TURN = 1_000

const TOO_MANY = problem('PAYLOAD_TOO_LARGE', `The body may hold at most ${PAYLOADS_MAX} payloads.`)

const NOT_JSON = lacks('', 'must be a JSON object in UTF-8')

/** Payloads that are shown with their errors; the others are counted. */
const SHOWN_MAX = 20

class Reading {
  readonly sender: Tally
  unknownFields = 0
  private readonly events: SourceEvent[] = []
  private readonly skipped = new Map<string, number>()
  private readonly rejected: { place: number; errors: readonly FieldError[] }[] = []
  private received = 0

  constructor(sender: Tally) {
    this.sender = sender
  }

  readonly noteField = (name: string): void => {
    const shown = tellingName(name)
    if (shown !== undefined) this.sender.noteField(shown)
  }

  add(place: number, mapped: Mapped): void {
    this.received++
    switch (mapped.kind) {
      case 'event':
        this.events.push({ place, event: mapped.event, sender: this.sender })
        break
      case 'events':
        this.received += mapped.events.length - 1
        for (const event of mapped.events) this.events.push({ place, event, sender: this.sender })
        break
      case 'skipped':
        this.skipped.set(mapped.reason, (this.skipped.get(mapped.reason) ?? 0) + 1)
        this.sender.passOver(mapped.reason)
        break
      case 'rejected':
        this.rejected.push({ place, errors: mapped.errors })
        this.sender.reject(invalid(mapped.errors[0]?.pointer))
        break
    }
  }

  end(): ReadBody {
    return {
      kind: 'events',
      events: this.events,
      senders: this.received === 0 ? [] : [this.sender],
      answer: (admitted) => this.answer(admitted),
    }
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
