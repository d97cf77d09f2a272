import { ByTenant } from '../../broker/by-tenant.js'
import type { Invocation } from '../../invocations/invocation.js'
import { foldedTags, foldKey } from '../../records/dimensions.js'
import { comparableName } from '../../text/comparable-name.js'
import { Globs } from '../../text/globs.js'
import { type IdentityEntry, namesOfIdentity } from '../directory.js'
import {
  endMs,
  haveCostlyGlobs,
  type Match,
  type RuleVersion,
  type StoredRule,
  startMs,
  type TestedField,
} from './mapping-rule.js'
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
   *
   * @param identity the directory's, of the call's: rules test all of its names, since records keep the hash of one
   */
  find(call: TestedCall, identity?: IdentityEntry): Mapped | undefined
  /** Whether the rules may cost a call more than the rest of its attribution. */
  readonly isCostly: boolean
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
  readonly isMetBy: (value: Value) => boolean
}

/** Of a call, comparable. */
interface Value {
  readonly text: string
  /** What the globs of the probe reach in it, once one of them was asked. */
  reached?: Int32Array
}

/** Pure. The order in which rules are tried is the same in every process. */
export function mappingPolicy(rules: Iterable<StoredRule>): MappingPolicy {
  const all = [...rules]
  const probes = new Probes()
  const tried = all.flatMap((rule) => triedOf(rule, probes)).sort(inOrder)
  return {
    isCostly: haveCostlyGlobs(all),
    find(call, identity) {
      if (tried.length === 0) return undefined
      const valuesOf = probes.valuesIn(call, identity)
      return tried.find(
        ({ fromMs, toMs, tests }) =>
          call.eventTimeMs >= fromMs && call.eventTimeMs < toMs && tests.every((test) => isMet(test, valuesOf)),
      )
    },
  }
}

const isMet = ({ probe, isMetBy }: Test, valuesOf: (probe: number) => readonly Value[]): boolean => {
  for (const value of valuesOf(probe)) if (isMetBy(value)) return true
  return false
}

export const NO_RULES: MappingPolicy = { find: () => undefined, isCostly: false }

const triedOf = (rule: StoredRule, probes: Probes): Tried[] =>
  rule.versions.map((version, i) => ({
    rule,
    version,
    fromMs: startMs(version.from),
    toMs: Math.min(endMs(version.to), ...rule.versions.slice(i + 1).map(({ from }) => startMs(from))),
    tests: version.when.map(({ field, key, match, value }) => {
      const probe = probes.of(field, key)
      const isNewest = i === rule.versions.length - 1
      return { probe: probe.index, isMetBy: matcher(match, comparableName(value), isNewest ? probe.globs : ALONE) }
    }),
  }))

const inOrder = (one: Tried, other: Tried): number =>
  one.version.priority - other.version.priority ||
  compareText(one.rule.name, other.rule.name) ||
  compareText(one.rule.id, other.rule.id)

const compareText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

const USER_AGENT_TAG = `${CALLERS}user-agent`

/** @param tagOf a tag of the call by its folded key */
type Probe = (
  call: TestedCall,
  tagOf: (key: string) => string | undefined,
  identity: IdentityEntry | undefined,
) => readonly (string | undefined)[]

/**
 * The globs of one probe, which read a value once for all. Of the newest versions alone: the limit counts one version of
 * each rule, and of each there may be 64.
 */
class ProbedGlobs {
  private readonly patterns: string[] = []
  private globs: Globs | undefined

  /** @returns whether a value matches the pattern; all are added before the first is asked */
  add(pattern: string): (value: Value) => boolean {
    const number = this.patterns.push(pattern) - 1
    return (value) => {
      this.globs ??= new Globs(this.patterns)
      value.reached ??= this.globs.read(value.text)
      return this.globs.isMatch(value.reached, number)
    }
  }
}

interface KnownProbe {
  readonly index: number
  readonly globs: ProbedGlobs
}

/**
 * What the conditions of all rules test, each once: its values in a call are made comparable once, however many test
 * it.
 */
class Probes {
  private readonly probes: Probe[] = []
  private readonly byName = new Map<string, KnownProbe>()

  of(field: TestedField, key = ''): KnownProbe {
    const name = `${field} ${foldKey(key)}`
    const known = this.byName.get(name)
    if (known !== undefined) return known
    const added = { index: this.probes.push(probeOf(field, key)) - 1, globs: new ProbedGlobs() }
    this.byName.set(name, added)
    return added
  }

  valuesIn(call: TestedCall, identity: IdentityEntry | undefined): (probe: number) => readonly Value[] {
    const known: (readonly Value[] | undefined)[] = []
    const tagOf = tagsOf(call)
    return (index) => {
      const before = known[index]
      if (before !== undefined) return before
      const values = this.probes[index]?.(call, tagOf, identity).filter((value) => value !== undefined) ?? []
      const comparable = values.map((value): Value => ({ text: comparableName(value) }))
      known[index] = comparable
      return comparable
    }
  }
}

function probeOf(field: TestedField, key: string): Probe {
  switch (field) {
    case 'tag':
      return tagProbe(key)
    case 'key_alias':
    case 'team':
      return tagProbe(field)
    case 'user_agent':
      return tagProbe(USER_AGENT_TAG)
    case 'namespace':
      return ({ k8sNamespace }) => [k8sNamespace]
    case 'identity':
      return ({ attributedIdentity }, _, identity) =>
        identity === undefined ? [attributedIdentity] : [attributedIdentity, ...namesOfIdentity(identity)]
    case 'model':
      return ({ requestedModel, servedModel }) => [requestedModel, servedModel]
  }
}

function tagProbe(key: string): Probe {
  const folded = foldKey(key)
  return (_, tagOf) => [tagOf(folded)]
}

/** The tags of a call by their folded keys, which are folded once, however many rules ask. */
function tagsOf({ tags }: TestedCall): (folded: string) => string | undefined {
  if (tags === undefined) return () => undefined
  let byFolded: ReadonlyMap<string, string> | undefined
  return (key) => {
    if (Object.hasOwn(tags, key)) return tags[key]
    byFolded ??= foldedTags(tags)
    return byFolded.get(key)
  }
}

/** A glob that reads a value for itself. */
const ALONE: Pick<ProbedGlobs, 'add'> = {
  add(pattern) {
    const globs = new Globs([pattern])
    return ({ text }) => globs.isMatch(globs.read(text), 0)
  },
}

/** @param pattern comparable, as the values are */
function matcher(match: Match, pattern: string, globs: Pick<ProbedGlobs, 'add'>): Test['isMetBy'] {
  switch (match) {
    case 'exact':
      return ({ text }) => text === pattern
    case 'prefix':
      return ({ text }) => text.startsWith(pattern)
    case 'glob':
      return globs.add(pattern)
  }
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
    const tenantId = rule?.tenant_id ?? this.rules.tenantOf(key)
    this.rules.follow(key, rule)
    // Those of other tenants stay: to build the largest takes a second.
    if (tenantId !== undefined) this.policies.delete(tenantId)
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

/** Identities that rules name as a whole, also as most callers spell them. */
export const identitiesIn = (rules: Iterable<StoredRule>): readonly string[] =>
  [...rules]
    .flatMap(({ versions }) => versions)
    .flatMap(({ when }) => when)
    .flatMap(({ field, match, value }) =>
      field === 'identity' && match === 'exact' ? [value, comparableName(value)] : [],
    )
