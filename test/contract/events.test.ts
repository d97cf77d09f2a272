import { expect, test } from 'vitest'
import type { z } from 'zod'
import { EVENT_DATA, eventEnvelope } from '../../internal/events/event-contract.js'
import { toJsonSchema } from '../../internal/http/openapi/json-schema.js'
import { compareWithBaseline } from '../support/contract/baselines.js'
import { breakages, type Frozen } from '../support/contract/compatibility.js'
import type { Schema } from '../support/contract/described.js'

/** What receivers of events rely on within a major version of the event schema (spec 9 rule 6). */

const received = (id: string, schema: z.ZodType): Frozen['operations'][string] => ({
  id,
  scope: null,
  parameters: {},
  replies: {
    200: { headers: [], contents: { 'application/json': toJsonSchema(schema, 'output', new Map()) as Schema } },
  },
})

test('the event envelope, types and data fields match their baseline', () => {
  const current: Frozen = {
    scopes: [],
    schemas: {},
    operations: Object.fromEntries(
      [['envelope', eventEnvelope] as const, ...Object.entries(EVENT_DATA)].map(([name, schema]) => [
        name,
        received(name, schema),
      ]),
    ),
  }

  expect(compareWithBaseline<Frozen>('events', current, (before) => breakages(before, current))).toEqual([])
})
