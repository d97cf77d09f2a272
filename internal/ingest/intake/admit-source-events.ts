import { EventWriter } from '../../invocations/event-writer.js'
import { EVENT_BYTES_MAX } from '../../invocations/limits.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { parseJson } from '../../text/parse-json.js'
import type { AdmissionDeps, EventSender } from '../admission/admission.js'
import { admitEach } from '../bulk/admit-each.js'
import type { BulkItem, BulkItems } from '../bulk/bulk-body.js'
import { reasonOf } from '../received/tally.js'
import type { Admitted, SourceEvent } from './intake-route.js'

/**
 * Admits what a source sent, with the promise of the API: once it returns, the log or the spool holds every accepted
 * event. There is no Idempotency-Key; each event is recognised by its event_id.
 *
 * @param events emptied: what answered requests leave behind refers to them until old objects are collected, and each
 *   collection of young ones would copy them
 * @returns a problem when the log did not store all of them; a repeat is then safe
 */
export async function admitSourceEvents(
  events: SourceEvent[],
  caller: EventSender,
  receivedAtMs: number,
  deps: AdmissionDeps,
): Promise<Admitted | Problem> {
  let accepted = 0
  let duplicates = 0
  const rejected: { place: number; problem: Problem }[] = []
  let index = 0
  const missed = await admitEach(itemsOf(events), caller, receivedAtMs, deps, {
    accept(_, isDuplicate) {
      if (isDuplicate) duplicates++
      else accepted++
      const { sender, event } = events[index++] as SourceEvent
      sender.accept(event, isDuplicate)
    },
    reject(_, refused) {
      const { sender, place } = events[index++] as SourceEvent
      sender.reject(reasonOf(refused))
      rejected.push({ place, problem: refused })
    },
  })
  events.length = 0
  return missed ?? { accepted, duplicates, rejected }
}

/** The events as texts, which is what the log holds. */
const itemsOf = (events: readonly SourceEvent[]): BulkItems => ({
  count: events.length,
  *[Symbol.iterator]() {
    const item = new Item(WRITERS.pop() ?? new EventWriter())
    try {
      for (let index = 0; index < events.length; index++) {
        item.become(events[index] as SourceEvent, index)
        yield item
      }
    } finally {
      item.written.forget()
      if (WRITERS.length < WRITERS_MAX) WRITERS.push(item.written)
    }
  },
})

/** Of earlier requests, used again: a writer has prepared the members that events have. */
const WRITERS: EventWriter[] = []
const WRITERS_MAX = 8

/** The current event, reused: it is written where the one before was. */
class Item implements BulkItem {
  readonly start = 0
  end = 0
  index = 0
  trustsCost: false | undefined
  readonly written: EventWriter

  constructor(written: EventWriter) {
    this.written = written
  }

  get bytes(): Buffer {
    return this.written.bytes
  }

  get problem(): Problem | undefined {
    return this.end > EVENT_BYTES_MAX ? TOO_LARGE : undefined
  }

  become({ event, trustsCost }: SourceEvent, index: number): void {
    this.end = this.written.write(event)
    this.index = index
    this.trustsCost = trustsCost
  }

  value(): unknown {
    return parseJson(this.bytes.subarray(0, this.end))
  }
}

const TOO_LARGE = problem('PAYLOAD_TOO_LARGE', `An event may have at most ${EVENT_BYTES_MAX} bytes.`)
