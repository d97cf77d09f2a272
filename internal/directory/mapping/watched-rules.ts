import { ByTenant } from '../../broker/by-tenant.js'
import { type MappingPolicy, mappingPolicy } from './mapping-policy.js'
import type { StoredRule } from './mapping-rule.js'

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
