/** The committed baselines of the public contract, in test/baselines/: what a major version freezes. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { EVENT_DATA, eventEnvelope } from '../../../internal/events/event-contract.js'
import { toJsonSchema } from '../../../internal/http/openapi/json-schema.js'
import { PROBLEMS } from '../../../internal/problems/problem-catalogue.js'
import { breakages, type Frozen, frozenPartOf } from './compatibility.js'
import type { Described, Schema } from './described.js'

interface Baseline<T> {
  readonly current: (described: Described) => T
  /** What the current contract takes away of an earlier one. */
  readonly breakages: (before: T, current: T) => readonly string[]
}

type ErrorCodes = Readonly<Record<string, { readonly status: number; readonly retryable: boolean }>>

const errorCodes: Baseline<ErrorCodes> = {
  current: () =>
    Object.fromEntries(Object.entries(PROBLEMS).map(([code, { status, retryable }]) => [code, { status, retryable }])),
  breakages: (before, current) =>
    Object.entries(before)
      .filter(([code, was]) => JSON.stringify(current[code]) !== JSON.stringify(was))
      .map(([code]) => `${code} is gone or means something else`),
}

const BASELINES = {
  openapi: { current: frozenPartOf, breakages },
  ingestion: { current: ingestionOf, breakages },
  events: { current: eventsOf, breakages },
  'error-codes': errorCodes,
} as const satisfies Readonly<Record<string, Baseline<Frozen> | Baseline<ErrorCodes>>>
export type BaselineName = keyof typeof BASELINES
export const BASELINE_NAMES = Object.keys(BASELINES) as BaselineName[]

const fileOfBaseline = (name: BaselineName): string =>
  fileURLToPath(new URL(`../../baselines/${name}.json`, import.meta.url))

/** @returns breaking changes; without any, additions that are not recorded */
export function compareWithBaseline(name: BaselineName, described: Described): readonly string[] {
  const { before, current, broken } = comparedWith(name, described)
  if (before === undefined) return [`${name}.json is missing: npm run generate`]
  if (broken.length > 0) return broken
  return isDeepStrictEqual(before, current) ? [] : [`${name}.json lacks additions: npm run generate`]
}

/** Records additions. @returns breaking changes, for which the baseline stays as it is */
export function recordBaseline(name: BaselineName, described: Described): readonly string[] {
  const { current, broken } = comparedWith(name, described)
  if (broken.length === 0) writeFileSync(fileOfBaseline(name), `${JSON.stringify(current, null, 2)}\n`)
  return broken
}

function comparedWith(name: BaselineName, described: Described) {
  const { current: currentOf, breakages: breakagesOf } = BASELINES[name] as Baseline<unknown>
  // As JSON has it: members that are undefined are not there.
  const current: unknown = JSON.parse(JSON.stringify(currentOf(described)))
  const file = fileOfBaseline(name)
  const before: unknown = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
  return { before, current, broken: before === undefined ? [] : breakagesOf(before, current) }
}

/** The schemas of the ingestion event, v1. */
function ingestionOf(described: Described): Frozen {
  const { schemas } = frozenPartOf(described)
  const contents = Object.fromEntries(
    ['InvocationEvent', 'ObservationEvent'].map((name) => [name, { $ref: `#/components/schemas/${name}` }]),
  )
  return {
    scopes: [],
    schemas: Object.fromEntries(
      Object.entries(schemas).filter(([name]) => name.endsWith('Event') && name !== 'AcceptedEvent'),
    ),
    operations: {
      ingestion: { id: 'ingestion', scope: null, parameters: {}, body: { required: true, contents }, replies: {} },
    },
  }
}

/** What receivers of webhooks rely on within a major version of the event schema. */
function eventsOf(): Frozen {
  const received = (id: string, schema: z.ZodType): Frozen['operations'][string] => ({
    id,
    scope: null,
    parameters: {},
    replies: {
      200: { headers: [], contents: { 'application/json': toJsonSchema(schema, 'output', new Map()) as Schema } },
    },
  })
  const schemas = { envelope: eventEnvelope, ...EVENT_DATA }
  return {
    scopes: [],
    schemas: {},
    operations: Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, received(name, schema)])),
  }
}
