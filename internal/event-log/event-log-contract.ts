import { z } from 'zod'
import { eventEnvelope } from '../events/event-contract.js'
import { LOGGED_TYPES, SCOPE_OF_EVENT } from '../events/readers.js'
import { json, type Operation } from '../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../http/contract/page.js'
import { exampleId } from '../text/answer-fields.js'
import { rangeParameters } from '../text/time-range.js'

/** The contract of the log of events. */

const loggedEvent = eventEnvelope
  .omit({ replayed: true })
  .extend({ type: z.enum(LOGGED_TYPES) })
  .meta({ id: 'LoggedEvent' })

const EXAMPLE = {
  id: exampleId('evt'),
  type: 'coverage.restored',
  created_at: '2026-11-21T09:30:00.000000000Z',
  tenant_id: exampleId('tnt'),
  sequence: 42,
  data: {
    pathway: 'gateway_mediated',
    layers_missing: ['edge-gateway'],
    layers_restored: ['edge-gateway'],
    layers_removed: [],
  },
}

const SCOPES = [...new Set(LOGGED_TYPES.map((type) => SCOPE_OF_EVENT[type]))]
  .map((scope) => {
    const types = LOGGED_TYPES.filter((type) => SCOPE_OF_EVENT[type] === scope).map((type) => `\`${type}\``)
    return `\`${scope}\` ${types.join(', ')}`
  })
  .join('; ')

export const PATH = '/api/v1/events/log'

export const LIST_EVENTS: Operation = {
  id: 'listEvents',
  tag: 'Webhooks',
  summary: 'List the events that were emitted, newest first',
  description:
    'The events that webhook endpoints can subscribe to, as they are delivered, whether or not an endpoint ' +
    'subscribes. They are kept for 90 days unless the instance is set up otherwise. `attribution.materialized` ' +
    `is not kept: the records themselves tell it. A caller sees the types whose scope it holds: ${SCOPES}. With ` +
    'none of these scopes, and for a `type` of another scope, the answer is 403.',
  query: {
    ...PAGE_PARAMETERS,
    type: z.enum(LOGGED_TYPES).optional().meta({ description: 'Only events of this type.' }),
    ...rangeParameters('events'),
  },
  replies: {
    200: {
      description: 'A page of events.',
      contents: json(pageOf(loggedEvent), { data: [EXAMPLE], page: { limit: 50, has_more: false } }),
    },
  },
}
