import { EVENT_FIELDS, type InvocationEvent } from '../../invocations/invocation-schema.js'
import type { Selected, Wanted } from '../../text/select-json.js'
import { eventIdOf } from '../intake/event-id.js'
import type { IntakeRequest } from '../intake/intake-route.js'
import { type JsonSource, lacks, type Mapped, mappedEvent, skipped } from '../intake/json-source.js'
import { instantOf, nameOf, objectOf, tagsOf, timeText } from './fields.js'

/** The fields of our own event. */
const DATA = Object.fromEntries(
  Object.keys(EVENT_FIELDS).map((name) => [name, name === 'tags' ? 'scalars' : 'value']),
) as Readonly<Record<keyof InvocationEvent, 'value' | 'scalars'>>

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
 * distinguished from others by its `id` and `source`, whatever `event_id` its data has; `time` and `subject` are taken
 * where time and service are missing.
 */
export const cloudevents: JsonSource = { name: 'cloudevents', wanted: WANTED, map: fromCloudEvent }

export function fromCloudEvent(payload: Selected, { caller }: IntakeRequest): Mapped {
  const [id, source] = [nameOf(payload['id']), nameOf(payload['source'])]
  if (id === undefined) return lacks('/id', 'must be the id of the event')
  if (source === undefined) return lacks('/source', 'must be the source of the event')
  const data = objectOf(payload['data'])
  if (nameOf(data['requested_model']) === undefined) return skipped('no_model_call')
  const { tags, ...fields } = data
  const time = fields['ingestion_timestamp'] ?? timeText(instantOf(payload['time']))
  return mappedEvent({
    ...fields,
    event_id: eventIdOf(caller.tenantId, 'cloudevents', `${source}\n${id}`),
    ingestion_layer: fields['ingestion_layer'] ?? 'application',
    ingestion_timestamp: time,
    attributed_service: fields['attributed_service'] ?? nameOf(payload['subject']),
    tags: tagsOf(Object.entries(objectOf(tags))),
    // Checked at admission, as those of the API are.
  } as Parameters<typeof mappedEvent>[0])
}
