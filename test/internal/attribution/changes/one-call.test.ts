import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Change } from '../../../../internal/attribution/changes/change.js'
import { seenByOf } from '../../../../internal/attribution/sightings/seen-by.js'
import type { AttributionRow } from '../../../../internal/store/tables/attributions.js'
import type { Quantity } from '../../../../internal/units/quantity.js'
import { idOf, NOW_MS } from '../../../support/invocations.js'
import { hexOf, idOfRow, Records } from '../../../support/records-of-changes.js'
import { finishedRow } from '../../../support/rows.js'
import { drawn } from '../../../support/run/rings.js'

/**
 * Whatever saw a call, whatever each knows of it, in whatever order and portions it arrives and is compared: one record
 * per billed attempt, with the counts that somebody knew and what somebody said of the caller.
 */

/** What the provider billed. */
interface Attempt {
  readonly number: number
  readonly startMs: number
  readonly lastsMs: number
  readonly input: number
  readonly output: number
  readonly cached: number
}

const MODEL = { provider: 'anthropic', requestedModel: 'claude-sonnet-4-5', servedModel: 'claude-sonnet-4-5' }
const APP = { intake: 'otlp', principal: 'key_app' }

/** Observers of a call: what each states of an attempt. The client's span is within the framework's. */
const VIEWS = {
  client: ({ number, input, output, cached }: Attempt) => ({
    ...APP,
    instrumentation: 'com.anthropic.sdk.python',
    traceId: `trace-${number}`,
    spanId: `inner-${number}`,
    parentSpanId: `outer-${number}`,
    responseId: `msg_${number}`,
    inputTokens: input,
    outputTokens: output,
    cachedInputTokens: cached,
  }),
  framework: ({ number, input, output }: Attempt) => ({
    ...APP,
    instrumentation: 'openinference.instrumentation.anthropic',
    traceId: `trace-${number}`,
    spanId: `outer-${number}`,
    inputTokens: input,
    outputTokens: output,
    tags: { workflow: 'answers' },
  }),
  sibling: ({ number, input, output }: Attempt) => ({
    ...APP,
    principal: 'key_2',
    instrumentation: 'opentelemetry.instrumentation.anthropic',
    traceId: `trace-${number}`,
    spanId: `sibling-${number}`,
    parentSpanId: 'workflow',
    responseId: `msg_${number}`,
    inputTokens: input,
    outputTokens: output,
    reasoningTokens: 5,
  }),
  /** Another root, without an id that others have. */
  twin: ({ number, input, output }: Attempt) => ({
    ...APP,
    instrumentation: 'openinference.instrumentation.langchain',
    traceId: `twin-${number}`,
    spanId: `twin-${number}`,
    inputTokens: input,
    outputTokens: output,
  }),
  /** The same of a stream whose input the framework does not know. */
  stream: ({ number, output }: Attempt) => ({
    ...APP,
    instrumentation: 'opentelemetry.instrumentation.langchain',
    traceId: `stream-${number}`,
    spanId: `stream-${number}`,
    outputTokens: output,
    usageBasis: 'partial',
  }),
  proxy: ({ number, input, output }: Attempt) => ({
    intake: 'litellm',
    principal: 'key_gw',
    responseId: `msg_${number}`,
    requestId: `call-${number}`,
    inputTokens: input,
    outputTokens: output - 1,
    usageBasis: 'partial',
    costBasis: 'client_estimate',
    tags: { team: 'search' },
  }),
  proxySpan: ({ number }: Attempt) => ({
    intake: 'otlp',
    principal: 'key_gw',
    instrumentation: 'litellm',
    traceId: `proxy-${number}`,
    spanId: `proxy-${number}`,
    requestId: `call-${number}`,
    usageBasis: 'unknown',
    costBasis: 'unpriced',
  }),
} as const satisfies Record<string, (attempt: Attempt) => Partial<AttributionRow>>
type ViewName = keyof typeof VIEWS
const NAMES = Object.keys(VIEWS) as ViewName[]

/** Observers that share something, directly or through others that are there. */
const LINKED: Readonly<Record<ViewName, readonly ViewName[]>> = {
  client: ['framework', 'sibling', 'twin', 'stream', 'proxy'],
  framework: ['client', 'sibling', 'twin', 'stream'],
  sibling: ['client', 'framework', 'proxy'],
  twin: ['client', 'framework', 'stream'],
  stream: ['client', 'framework', 'twin'],
  proxy: ['client', 'sibling', 'proxySpan'],
  proxySpan: ['proxy'],
}
function areLinked(names: readonly ViewName[]): boolean {
  const reached = new Set(names.slice(0, 1))
  for (const _ of names) {
    for (const name of names) if (LINKED[name].some((other) => reached.has(other))) reached.add(name)
  }
  return reached.size === names.length
}

const attempts = fc
  .array(
    fc.record({
      startMs: fc.integer({ min: 0, max: 5_000 }),
      lastsMs: fc.integer({ min: 400, max: 2_000 }),
      // Parallel calls are often alike to the last token.
      input: fc.constantFrom(3_100, 3_100, 800),
      output: fc.constantFrom(400, 400, 60),
      cached: fc.constantFrom(0, 256),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((all) => all.map((each, number): Attempt => ({ ...each, number })))
/** All calls of a process have the same observers. */
const observers = fc.subarray(NAMES, { minLength: 1 }).filter(areLinked)

const OUTER: ReadonlySet<ViewName> = new Set(['framework', 'twin', 'stream'])

function rowOf(attempt: Attempt, name: ViewName, number: number): AttributionRow {
  const fields: Partial<AttributionRow> = VIEWS[name](attempt)
  return {
    ...finishedRow({ id: idOf(number) }),
    ...MODEL,
    inputTokens: undefined,
    outputTokens: undefined,
    cachedInputTokens: undefined,
    reasoningTokens: undefined,
    costUsd: BigInt(attempt.number + 1) as Quantity<'USD'>,
    costBasis: 'price_book',
    costDetails: '{"basis":"price_book"}',
    usageBasis: 'reported',
    eventTimeMs: NOW_MS + attempt.startMs - (OUTER.has(name) ? 3 : 0),
    latencyMs: attempt.lastsMs + (OUTER.has(name) ? 6 : 0),
    receivedAtMs: NOW_MS + number,
    ...fields,
  }
}

let comparisons = 0
const compare = (members: readonly string[]): Change => ({
  id: `same.${++comparisons}`,
  tenantId: 'tnt_one',
  recordId: members[0] ?? '',
  actor: 'same_call',
  decision: { kind: 'same_call', members, fromMs: NOW_MS, toMs: NOW_MS },
})

/** Inserts portion by portion; after each, its records are compared with all that are there, as the finder has them. */
function recordsOf(portions: readonly (readonly AttributionRow[])[]): readonly AttributionRow[] {
  const records = new Records([])
  const known: string[] = []
  for (const portion of portions) {
    for (const row of portion) {
      records.insert(row)
      known.push(idOfRow(row))
    }
    records.apply(compare(known))
    // A batch that a crash cut short looks again.
    records.apply(compare([...known].reverse()))
  }
  return records.current
}

/** Some order of the rows, in portions. */
const shuffledViews = attempts.chain((all) =>
  observers.chain((names) => {
    const rows = all.flatMap((attempt) => names.map((name) => [attempt, name] as const))
    const numbered = rows.map(([attempt, name], i) => ({ attempt, name, row: rowOf(attempt, name, i + 1) }))
    return fc
      .tuple(
        fc.shuffledSubarray(numbered, { minLength: numbered.length, maxLength: numbered.length }),
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 8, maxLength: 24 }),
      )
      .map(([shuffled, sizes]) => ({ all, names, views: shuffled, sizes }))
  }),
)

function portionsOf<T>(all: readonly T[], sizes: readonly number[]): T[][] {
  const portions: T[][] = []
  for (let [from, i] = [0, 0]; from < all.length; from += sizes[i++ % sizes.length] ?? 1) {
    portions.push(all.slice(from, from + (sizes[i % sizes.length] ?? 1)))
  }
  return portions
}

/**
 * Three calls alike to the last token, or two at once of which one observer shares no id: which of its views is whose is
 * then decided one by one, and one may be left over.
 */
function isCrowded(all: readonly Attempt[], names: readonly ViewName[]): boolean {
  const isByOutput = names.includes('stream')
  const alike = all.map((one) =>
    all.filter(({ input, output }) => output === one.output && (isByOutput || input === one.input)),
  )
  if (alike.some(({ length }) => length > 2)) return true
  return (
    (isByOutput || names.includes('twin')) &&
    alike.some(([one, other]) => one !== undefined && other !== undefined && areAtOnce(one, other))
  )
}
const areAtOnce = (one: Attempt, other: Attempt): boolean =>
  one.startMs <= other.startMs + other.lastsMs && other.startMs <= one.startMs + one.lastsMs

test('one record per billed attempt, with the best known counts and the facts of all who saw it', () => {
  fc.assert(
    fc.property(shuffledViews, ({ all, names, views, sizes }) => {
      fc.pre(!isCrowded(all, names))
      const records = recordsOf(
        portionsOf(
          views.map(({ row }) => row),
          sizes,
        ),
      )

      expect(records).toHaveLength(all.length)
      const has = (...some: readonly ViewName[]) => some.some((name) => names.includes(name))
      const knows = has('client', 'framework', 'sibling', 'twin')
      const countsOf = (rows: readonly Pick<AttributionRow, 'inputTokens' | 'outputTokens'>[]) =>
        rows.map(({ inputTokens, outputTokens }) => `${inputTokens} ${outputTokens}`).sort()
      if (has('proxy') || knows) {
        expect(countsOf(records)).toEqual(
          countsOf(all.map(({ input, output }) => ({ inputTokens: input, outputTokens: knows ? output : output - 1 }))),
        )
      }
      for (const row of records) {
        expect(seenByOf(row).also).toHaveLength(names.length - 1)
        if (has('client')) expect(row.cachedInputTokens).toBeDefined()
        if (has('sibling')) expect(row.reasoningTokens).toBe(5)
        if (has('framework')) expect(row.tags).toMatchObject({ workflow: 'answers' })
        if (has('proxy')) expect(row.tags).toMatchObject({ team: 'search' })
      }
    }),
    { numRuns: drawn(300) },
  )
})

test('parallel equal calls of one observer stay as many as they are', () => {
  fc.assert(
    fc.property(attempts, fc.constantFrom(...NAMES), (all, name) => {
      const alike = all.map((attempt) => ({ ...attempt, startMs: 0, lastsMs: 900, input: 10, output: 10 }))
      const rows = alike.map((attempt, i) => rowOf(attempt, name, i + 1))

      expect(recordsOf([rows]).map(idOfRow).sort()).toEqual(rows.map((_, i) => hexOf(i + 1)).sort())
    }),
  )
})
