import { ByTenant } from '../../broker/by-tenant.js'
import type { Invocation } from '../../invocations/invocation.js'
import { foldKey } from '../../records/dimensions.js'
import { comparableName } from '../../text/comparable-name.js'
import { endMs, type Match, type RuleVersion, type StoredRule, startMs, type TestedField } from './mapping-rule.js'
import { CALLERS } from './vouched-fields.js'

/** What of a call rules test. */
export type TestedCall = Pick<Invocation, 'eventTimeMs'> &
  Partial<Pick<Invocation, 'tags' | 'k8sNamespace' | 'attributedIdentity' | 'requestedModel' | 'servedModel'>>

/** The rule that takes a call. */
export interface Mapped {
  readonly rule: StoredRule
  readonly version: RuleVersion
}

/** A tenant's rules, ready for calls. */
export interface MappingPolicy {
  /**
   * The first rule, by priority, name and id, that holds at the time of the call and whose conditions the call meets.
   */
  find(call: TestedCall): Mapped | undefined
}

/** A version, while it holds and no newer one of its rule does. */
interface Tried extends Mapped {
  readonly fromMs: number
  readonly toMs: number
  readonly tests: readonly Test[]
}

interface Test {
  /** Index of what it tests in `Probes`. */
  readonly probe: number
  readonly match: Match
  /** Comparable, as the values are. */
  readonly pattern: string
}

/** Pure. The order in which rules are tried is the same in every process. */
export function mappingPolicy(rules: Iterable<StoredRule>): MappingPolicy {
  const probes = new Probes()
  const tried = [...rules].flatMap((rule) => triedOf(rule, probes)).sort(inOrder)
  return {
    find(call) {
      if (tried.length === 0) return undefined
      const valuesOf = probes.valuesIn(call)
      return tried.find(
        ({ fromMs, toMs, tests }) =>
          call.eventTimeMs >= fromMs && call.eventTimeMs < toMs && tests.every((test) => isMet(test, valuesOf)),
      )
    },
  }
}

const isMet = ({ probe, match, pattern }: Test, valuesOf: (probe: number) => readonly string[]): boolean => {
  for (const value of valuesOf(probe)) if (matches(match, pattern, value)) return true
  return false
}

export const NO_RULES: MappingPolicy = { find: () => undefined }

const triedOf = (rule: StoredRule, probes: Probes): Tried[] =>
  rule.versions.map((version, i) => ({
    rule,
    version,
    fromMs: startMs(version.from),
    toMs: Math.min(endMs(version.to), ...rule.versions.slice(i + 1).map(({ from }) => startMs(from))),
    tests: version.when.map(({ field, key, match, value }) => ({
      probe: probes.of(field, key),
      match,
      pattern: comparableIn(field)(value),
    })),
  }))

const inOrder = (one: Tried, other: Tried): number =>
  one.version.priority - other.version.priority ||
  compareText(one.rule.name, other.rule.name) ||
  compareText(one.rule.id, other.rule.id)

const compareText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

export const USER_AGENT_TAG = `${CALLERS}user-agent`

/** The directory, too, knows identities as they are, and records keep only a hash of them. */
const comparableIn = (field: TestedField): ((text: string) => string) =>
  field === 'identity' ? (text) => text : comparableName

type Probe = (call: TestedCall) => readonly (string | undefined)[]

/**
 * What the conditions of all rules test, each once: its values in a call are made comparable once, however many test
 * it.
 */
class Probes {
  private readonly probes: { readonly name: string; readonly read: Probe; readonly field: TestedField }[] = []

  of(field: TestedField, key = ''): number {
    const name = `${field} ${foldKey(key)}`
    const known = this.probes.findIndex((probe) => probe.name === name)
    return known >= 0 ? known : this.probes.push({ name, field, read: probeOf(field, key) }) - 1
  }

  valuesIn(call: TestedCall): (probe: number) => readonly string[] {
    const known: (readonly string[] | undefined)[] = []
    return (index) => {
      const before = known[index]
      if (before !== undefined) return before
      const probe = this.probes[index]
      const values = probe?.read(call).filter((value) => value !== undefined) ?? []
      const comparable = values.map(comparableIn(probe?.field ?? 'tag'))
      known[index] = comparable
      return comparable
    }
  }
}

function probeOf(field: TestedField, key: string): Probe {
  switch (field) {
    case 'tag':
      return tagOf(key)
    case 'key_alias':
    case 'team':
      return tagOf(field)
    case 'user_agent':
      return tagOf(USER_AGENT_TAG)
    case 'namespace':
      return ({ k8sNamespace }) => [k8sNamespace]
    case 'identity':
      return ({ attributedIdentity }) => [attributedIdentity]
    case 'model':
      return ({ requestedModel, servedModel }) => [requestedModel, servedModel]
  }
}

function tagOf(key: string): Probe {
  const folded = foldKey(key)
  return ({ tags }) => {
    if (tags === undefined) return []
    if (Object.hasOwn(tags, folded)) return [tags[folded]]
    return [Object.entries(tags).find(([stated]) => foldKey(stated) === folded)?.[1]]
  }
}

/**
 * Whether a text matches a pattern as a whole. No regular expressions: the time is at most the product of both lengths,
 * each of which is bounded (256 bytes).
 */
export function matches(kind: Match, pattern: string, text: string): boolean {
  switch (kind) {
    case 'exact':
      return text === pattern
    case 'prefix':
      return text.startsWith(pattern)
    case 'glob':
      return matchesGlob(pattern, text)
  }
}

/** `*` stands for any characters, also none; `?` for one UTF-16 unit. */
function matchesGlob(pattern: string, text: string): boolean {
  let at = 0
  let next = 0
  // Where to go on when the characters behind the last star do not match.
  let star = -1
  let afterStar = 0
  while (at < text.length) {
    if (pattern[next] === '*') {
      star = next++
      afterStar = at
    } else if (next < pattern.length && (pattern[next] === '?' || pattern[next] === text[at])) {
      next++
      at++
    } else if (star >= 0) {
      next = star + 1
      at = ++afterStar
    } else {
      return false
    }
  }
  while (pattern[next] === '*') next++
  return next === pattern.length
}

/** A rule that is tried out: as it would be, or without it. */
export interface RuleDraft {
  /** The rule that it replaces, or that is removed. */
  readonly id: string
  readonly rule?: StoredRule
}

/** Every tenant's mapping rules in memory, fed from the bucket `mapping_rules` (its keys are in streams/buckets.ts). */
export class WatchedRules {
  private readonly rules = new ByTenant<StoredRule>()
  private readonly policies = new Map<string, MappingPolicy>()

  /** @param rule undefined when it was deleted */
  apply(key: string, rule: StoredRule | undefined): void {
    this.rules.follow(key, rule)
    // Rules change rarely, and rebuilding a tenant's policy takes less than a millisecond.
    this.policies.clear()
  }

  /** The same object until rules change. */
  of(tenantId: string): MappingPolicy {
    const known = this.policies.get(tenantId)
    if (known !== undefined) return known
    const policy = mappingPolicy(this.rules.of(tenantId))
    this.policies.set(tenantId, policy)
    return policy
  }

  /** A tenant's rules with a draft in place. */
  with({ id, rule }: RuleDraft, tenantId: string): MappingPolicy {
    const others = [...this.rules.of(tenantId)].filter((one) => one.id !== id)
    return mappingPolicy(rule === undefined ? others : [...others, rule])
  }

  identities(tenantId: string): readonly string[] {
    return identitiesIn(this.rules.of(tenantId))
  }
}

/** Identities that rules name as a whole. */
export const identitiesIn = (rules: Iterable<StoredRule>): readonly string[] =>
  [...rules]
    .flatMap(({ versions }) => versions)
    .flatMap(({ when }) => when)
    .flatMap(({ field, match, value }) => (field === 'identity' && match === 'exact' ? [value] : []))
