import type { Problem } from '../../problems/problem-catalogue.js'
import { type AdmissionDeps, answerHere, type EventSender, newEventKey } from '../admission/admission.js'
import { type CheckedEvent, checkEvent, newEventIds } from '../admission/check-event.js'
import type { EventAnswer } from '../keys/event-answers.js'
import type { BulkItems } from './bulk-body.js'
import { DistinctIds } from './distinct-ids.js'

/** Events checked before yielding to the event loop: about 3 ms. */
export const SLICE = 500
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** The events of a request, checked and claimed before the first of them goes to the log. */
export interface ClaimedEvents {
  /** Per event of the request. */
  readonly checked: readonly (CheckedEvent | Problem)[]
  /** Per event: the place of its id; -1 for one that is rejected, or has the id of an earlier one. */
  readonly places: Int32Array
  readonly ids: DistinctIds
  /** These are per place. */
  readonly partitions: Uint8Array
  readonly answers: Uint8Array
  readonly owners: readonly (string | undefined)[]
}

/** Claims all events of a request: its owners get one message each, not one per slice. */
export async function claimEvents(
  items: BulkItems,
  caller: EventSender,
  receivedAtMs: number,
  deps: AdmissionDeps,
): Promise<ClaimedEvents> {
  const checked: (CheckedEvent | Problem)[] = []
  const places = new Int32Array(items.count).fill(-1)
  const ids = new DistinctIds(items.count)
  const partitions = new Uint8Array(items.count)
  const first: CheckedEvent[] = []
  for (const item of items) {
    if (item.index % SLICE === SLICE - 1) await nextTurn()
    const event = item.problem ?? checkEvent(item, caller, deps, receivedAtMs, newEventIds())
    checked.push(event)
    if ('code' in event) continue
    const place = ids.add(event.ids.id)
    places[item.index] = place
    if (place < 0) continue
    partitions[place] = event.partition
    first.push(event)
  }
  return { checked, places, ids, partitions, ...(await claimAll(first, deps)) }
}

async function claimAll(
  events: readonly CheckedEvent[],
  deps: AdmissionDeps,
): Promise<Pick<ClaimedEvents, 'answers' | 'owners'>> {
  const answers = new Uint8Array(events.length)
  const owners: (string | undefined)[] = new Array(events.length).fill(undefined)
  let waiting = 1
  await new Promise<void>((resolve) => {
    const onAnswer = (place: number, answer: EventAnswer): void => {
      answers[place] = answer
      if (--waiting === 0) resolve()
    }
    for (const [place, event] of events.entries()) {
      const known = answerHere(event, deps)
      waiting++
      if (known !== undefined) onAnswer(place, known)
      else {
        const key = newEventKey(event.ids.id)
        owners[place] = deps.eventClaims.claim(key, event.partition, (answer) => onAnswer(place, answer))
      }
    }
    if (--waiting === 0) resolve()
  })
  return { answers, owners }
}
