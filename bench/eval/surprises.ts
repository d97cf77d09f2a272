import type { EventFacts } from '../../internal/inference/learning/features.js'
import { type Random, seededRandom } from '../../internal/local/sandbox/random.js'

/**
 * What senders do that nobody has planned for: a field that only some of the calls have, values that were never there
 * before. Drawn as senders change their calls, whatever a model may make of it: this file knows no feature of a model.
 */

/** A call of an evaluation, and what a surprise may depend on. */
export interface Surprised {
  readonly facts: EventFacts
  /** Whether the facts stage resolves it. */
  readonly isLabelled: boolean
  /** Whether it comes after a model was trained. */
  readonly isLater: boolean
  readonly service: string
}

/** @param i of the call @param random of the surprise */
type Change = (call: Surprised, i: number, random: Random) => EventFacts

interface Kind {
  readonly name: string
  readonly change: Change
}

const tagged = ({ facts }: Surprised, tags: Readonly<Record<string, string>>): EventFacts => ({
  ...facts,
  tags: { ...facts.tags, ...tags },
})
const without = (facts: EventFacts, ...fields: readonly (keyof EventFacts)[]): EventFacts => {
  const rest: Record<string, unknown> = { ...facts }
  for (const field of fields) delete rest[field]
  return rest as unknown as EventFacts
}
/** A change of the calls that the facts stage does not resolve, or of those that it does. */
const ofUnresolved =
  (change: Change): Change =>
  (call, i, random) =>
    call.isLabelled ? call.facts : change(call, i, random)
const ofResolved =
  (change: Change): Change =>
  (call, i, random) =>
    call.isLabelled ? change(call, i, random) : call.facts
const ofLater =
  (change: Change): Change =>
  (call, i, random) =>
    call.isLater ? change(call, i, random) : call.facts

const KINDS: readonly Kind[] = [
  { name: 'a tag on unresolved calls alone', change: ofUnresolved((call) => tagged(call, { 'caller.via': 'proxy' })) },
  {
    name: 'tags of unresolved calls that no two share',
    change: ofUnresolved((call, i) => tagged(call, { 'caller.request': `r-${i}`, 'caller.span': `s-${i}` })),
  },
  {
    name: 'many tags on most unresolved calls',
    change: ofUnresolved((call, i, random) => {
      const tags = Array.from({ length: 8 }, (_, n) => [`caller.t${n}`, `${random.whole(0, 3)}`] as const)
      return i % 10 === 0 ? call.facts : tagged(call, Object.fromEntries(tags))
    }),
  },
  {
    name: 'a tag whose values on unresolved calls are others',
    change: (call) => tagged(call, { release: call.isLabelled ? '2026.10' : '2026.11' }),
  },
  {
    name: 'a tag that names the service of resolved calls',
    change: ofResolved((call) => tagged(call, { team: call.service })),
  },
  {
    name: 'a tag that names the service, on few unresolved calls',
    change: (call, i) => (call.isLabelled || i % 20 === 0 ? tagged(call, { team: call.service }) : call.facts),
  },
  {
    name: 'a new value of a tag after the training',
    change: (call) => tagged(call, { release: call.isLater ? '9' : '8' }),
  },
  {
    name: 'new tags after the training',
    change: ofLater((call, i) => tagged(call, { a: `${i}`, b: `${i}`, c: 'x', d: 'y' })),
  },
  {
    name: 'a region on unresolved calls alone',
    change: ofUnresolved(({ facts }) => ({ ...facts, region: 'eu-west-1' })),
  },
  { name: 'a region on resolved calls alone', change: ofResolved(({ facts }) => ({ ...facts, region: 'eu-west-1' })) },
  {
    name: 'a service tier on unresolved calls alone',
    change: ofUnresolved(({ facts }) => ({ ...facts, serviceTier: 'flex' })),
  },
  {
    name: 'a namespace on unresolved calls alone',
    change: ofUnresolved(({ facts }) => ({ ...facts, k8sNamespace: 'egress' })),
  },
  {
    name: 'a workload on resolved calls alone',
    change: ofResolved((call) => ({ ...call.facts, k8sNamespace: 'apps', k8sWorkload: `${call.service}-api` })),
  },
  { name: 'latencies on unresolved calls alone', change: ofResolved(({ facts }) => without(facts, 'latencyMs')) },
  { name: 'latencies on resolved calls alone', change: ofUnresolved(({ facts }) => without(facts, 'latencyMs')) },
  {
    name: 'latencies on a third of the resolved calls alone',
    change: (call, i) => (call.isLabelled && i % 3 === 0 ? call.facts : without(call.facts, 'latencyMs')),
  },
  {
    name: 'no latency on two thirds of the unresolved calls',
    change: ofUnresolved(({ facts }, i) => (i % 3 === 0 ? facts : without(facts, 'latencyMs'))),
  },
  {
    name: 'no latency on a third of the unresolved calls',
    change: ofUnresolved(({ facts }, i) => (i % 3 === 0 ? without(facts, 'latencyMs') : facts)),
  },
  {
    name: 'a model named in another way by a third of the unresolved calls',
    change: ofUnresolved(({ facts }, i) => (i % 3 === 0 ? { ...facts, model: `${facts.model}-2026-11-01` } : facts)),
  },
  {
    name: 'no output counted on unresolved calls',
    change: ofUnresolved(({ facts }) => without(facts, 'outputTokens')),
  },
  {
    name: 'cache reads counted on unresolved calls alone',
    change: ofUnresolved(({ facts }) => ({ ...facts, cachedInputTokens: Math.floor((facts.inputTokens ?? 0) / 3) })),
  },
  {
    name: 'thoughts counted on resolved calls alone',
    change: ofResolved(({ facts }) => ({ ...facts, reasoningTokens: Math.floor((facts.outputTokens ?? 0) / 3) })),
  },
  {
    name: 'a model named in another way by unresolved calls',
    change: ofUnresolved(({ facts }) => ({ ...facts, model: `${facts.model}-2026-11-01` })),
  },
  {
    name: 'a new credential of unresolved calls',
    change: ofUnresolved(({ facts }) => ({ ...facts, principal: 'rotated' })),
  },
]

export interface Surprise {
  readonly name: string
  readonly of: (calls: readonly Surprised[]) => readonly EventFacts[]
}

export const SURPRISES: readonly Surprise[] = KINDS.map(({ name, change }) => ({
  name,
  of: (calls) => {
    const random = seededRandom(name)
    return calls.map((call, i) => change(call, i, random))
  },
}))

/** Several at once. */
export const together = (surprises: readonly Surprise[]): Surprise => ({
  name: surprises.map(({ name }) => name).join('; '),
  of: (calls) =>
    surprises.reduce<readonly EventFacts[]>(
      (facts, { of }) => of(calls.map((call, i) => ({ ...call, facts: facts[i] as EventFacts }))),
      calls.map((call) => call.facts),
    ),
})
