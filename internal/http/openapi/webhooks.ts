import { EVENT_CAUSES, EVENT_DATA, EVENT_TYPES, type EventType, eventEnvelope } from '../../events/event-contract.js'
import { type NamedSchemas, toJsonSchema } from './json-schema.js'

/**
 * The requests to webhook endpoints, as OpenAPI's `webhooks`: one per event type. The receiver replies to them, so that
 * they need none of our credentials.
 */
export const describeWebhooks = (schemas: NamedSchemas): object =>
  Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: describeDelivery(type, schemas) }]))

const envelope = eventEnvelope.meta({ id: 'EventEnvelope' })

const describeDelivery = (type: EventType, schemas: NamedSchemas): object => ({
  operationId: `receive.${type}`,
  tags: ['Webhooks'],
  summary: EVENT_CAUSES[type],
  security: [],
  parameters: [SIGNATURE, ...STANDARD, REPLAYED],
  requestBody: {
    required: true,
    content: {
      'application/json': {
        schema: {
          allOf: [
            toJsonSchema(envelope, 'output', schemas),
            {
              properties: {
                type: { type: 'string', const: type },
                data: toJsonSchema(EVENT_DATA[type], 'output', schemas),
              },
            },
          ],
        },
      },
    },
  },
  responses: { '2XX': ACKNOWLEDGED, '4XX': REPEATED, '5XX': REPEATED },
})

const SIGNATURE = {
  name: 'Service-Signature',
  in: 'header',
  required: true,
  description:
    '`t=<unix seconds>,v1=<hex>`: HMAC-SHA256 over `<t>.<body>`, the exact bytes, keyed by the whole text of the ' +
    "endpoint's `signing_secret`. While a rotation overlaps there is one `v1` per secret.",
  schema: { type: 'string', pattern: '^t=[0-9]+(,v1=[0-9a-f]{64})+$' },
}
/** Of Standard Webhooks. */
const STANDARD = [
  {
    name: 'webhook-id',
    in: 'header',
    required: true,
    description: 'The `id` of the event: the same in its retries and replays.',
    schema: { type: 'string' },
  },
  {
    name: 'webhook-timestamp',
    in: 'header',
    required: true,
    description: 'When this attempt was signed, in unix seconds.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
  {
    name: 'webhook-signature',
    in: 'header',
    required: true,
    description:
      'As Standard Webhooks has it: `v1,<base64>`, HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>`, keyed by ' +
      "the bytes that the endpoint's `signing_secret` encodes after its prefix. While a rotation overlaps there is one " +
      'per secret, with a space between.',
    schema: { type: 'string', pattern: '^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$' },
  },
]
const REPLAYED = {
  name: 'Service-Replayed',
  in: 'header',
  required: false,
  description: 'Present when the event was replayed on request.',
  schema: { type: 'string', const: 'true' },
}
const ACKNOWLEDGED = { description: 'The delivery is acknowledged.' }
const REPEATED = { description: 'The delivery is retried later, with the same event `id`.' }
