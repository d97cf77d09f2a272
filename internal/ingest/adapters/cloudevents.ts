import { EVENT_FIELDS, type InvocationEvent } from '../../invocations/invocation-schema.js'
import { parseJson } from '../../text/parse-json.js'
import { ByReader, type Selected, type Wanted, type WantedMembers } from '../../text/select-json.js'
import { numbersOf } from '../../usage/printed-numbers.js'
import { eventIdOf } from '../intake/event-id.js'
import type { IntakeRequest } from '../intake/intake-route.js'
import { type JsonSource, type Mapped, mappedEvent, skipped } from '../intake/json-source.js'
import { callKey } from './call-key.js'
import { idOf, instantOf, nameOf, objectOf, tagsOf, timeText } from './fields.js'

/** What is there and is no object of the form goes on as this, which admission refuses. */
const NO_OBJECT = 'no object'
const OPEN_OBJECT = 0x7b
const NULL_BYTES = 4
const UNITS_BYTES_MAX = 2_048

const isNull = (bytes: Buffer, start: number, end: number): boolean =>
  end - start === NULL_BYTES && bytes.toString('latin1', start, end) === 'null'

function unitsIn(bytes: Buffer, start: number, end: number): unknown {
  if (isNull(bytes, start, end)) return undefined
  if (bytes[start] !== OPEN_OBJECT || end - start > UNITS_BYTES_MAX) return NO_OBJECT
  return parseJson(bytes.subarray(start, end)) ?? NO_OBJECT
}

/** Those that are objects; of a provider's usage object the numbers are read. */
const OBJECTS: { readonly [field in keyof InvocationEvent]?: Wanted } = {
  tags: 'scalars',
  billed_units: new ByReader(unitsIn),
  provider_usage: new ByReader((bytes, start, end) =>
    isNull(bytes, start, end) ? undefined : (numbersOf(bytes, start, end) ?? NO_OBJECT),
  ),
}

/** The fields of our own event. */
const DATA: WantedMembers = Object.fromEntries(
  Object.keys(EVENT_FIELDS).map((name) => [name, OBJECTS[name as keyof InvocationEvent] ?? 'value']),
)

const WANTED = {
  specversion: 'skip',
  id: 'value',
  source: 'value',
  type: 'skip',
  time: 'value',
  subject: 'value',
  datacontenttype: 'skip',
  dataschema: 'skip',
  data: DATA,
} as const satisfies Wanted

/**
 * CloudEvents 1.0 in structured JSON, single or in a batch, whose `data` has the fields of our own event. One is
 * distinguished from others by its `id` and `source`, whatever `event_id` its data has; without them, by that or by
 * what else it states. `time` and `subject` are taken where time and service are missing.
 */
export const cloudevents: JsonSource = {
  name: 'cloudevents',
  wanted: WANTED,
  map: fromCloudEvent,
  keepsTags: true,
}

function fromCloudEvent(payload: Selected, { caller }: IntakeRequest): Mapped {
  const data = objectOf(payload['data'])
  if (nameOf(data['requested_model']) === undefined) return skipped('no_model_call')
  const { tags, ...fields } = data
  const time = fields['ingestion_timestamp'] ?? timeText(instantOf(payload['time']))
  const [id, source] = [idOf(payload['id']), idOf(payload['source'])]
  const facts = [id, source, time, payload['subject'], JSON.stringify(data)]
  const key = id === undefined || source === undefined ? callKey(fields['event_id'], facts) : `${source}\n${id}`
  return mappedEvent({
    ...fields,
    ...idsOf(fields),
    event_id: eventIdOf(caller.tenantId, 'cloudevents', key),
    ingestion_layer: fields['ingestion_layer'] ?? 'application',
    ingestion_timestamp: time,
    attributed_service: fields['attributed_service'] ?? nameOf(payload['subject']),
    tags: tagsOf(Object.entries(objectOf(tags))),
    // Checked at admission, as those of the API are.
  } as Parameters<typeof mappedEvent>[0])
}

const IDS = ['response_id', 'request_id', 'operation_id'] as const

/** Ids that somebody else gave: one that is too long costs no event. */
const idsOf = (fields: Selected): Selected =>
  Object.fromEntries(IDS.flatMap((name) => (typeof fields[name] === 'string' ? [[name, idOf(fields[name])]] : [])))
