import type { WatchedRecords } from '../../broker/watched-records.js'
import { type ResourceDeps, resource, watchedCollection } from '../../http/resource/resource.js'
import type { Route } from '../../http/route.js'
import { idOfName } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import {
  changedRule,
  GLOB_PLACES_MAX,
  globPlaces,
  newest,
  RULES_MAX,
  type StoredRule,
  storedRule,
  VERSIONS_MAX,
} from './mapping-rule.js'
import { MAPPING_RULE, shownRule } from './mapping-rule-contract.js'

export interface MappingRoutesDeps extends ResourceDeps {
  readonly rules: WatchedRecords<StoredRule>
  readonly isPool: (tenantId: string, name: string) => boolean
}

/** `/api/v1/mapping-rules`: who owns calls whose service the directory does not know, for the facts stage. */
export const mappingRoutes = ({ rules, isPool, ...deps }: MappingRoutesDeps): readonly Route[] =>
  resource(
    {
      ...MAPPING_RULE,
      stepUp: 'delete',
      actions: { create: 'mapping_rule.create', delete: 'mapping_rule.delete' },
      max: RULES_MAX,
      collection: watchedCollection(rules, { sortKeyOf: sortKeyOfRule, order: 'ascending' }),
      make(fields, tenantId) {
        // Derived from the name: records name their rule, so a tenant cannot have two of the same name.
        const id = idOfName(MAPPING_RULE.prefix, deps.idsOf(tenantId), 'mapping_rules', fields.name)
        return { id, key: id, record: storedRule(fields, id, tenantId, deps.clock()) }
      },
      refuse: (tenantId, rule) => refusalOfRule(rule, rules.of(tenantId), (name) => isPool(tenantId, name)),
      duplicate: 'A mapping rule with this name already exists.',
      update: { action: 'mapping_rule.update', apply: (rule, changes) => changedRule(rule, changes, deps.clock()) },
      show: shownRule,
      audited: auditedRule,
    },
    deps,
  )

/** In the order in which rules are tried. */
const sortKeyOfRule = (rule: StoredRule): readonly string[] => [
  String(newest(rule).priority).padStart(6, '0'),
  rule.name,
  rule.id,
]

/** @param known the tenant's rules, as they were */
export function refusalOfRule(
  rule: StoredRule,
  known: Iterable<StoredRule>,
  isPool: (name: string) => boolean,
): Problem | undefined {
  const { from, to, set } = newest(rule)
  if (from !== null && to !== null && Date.parse(from) >= Date.parse(to)) {
    return problem('CONFLICT', 'The rule would end before it begins.')
  }
  if (isPool(set.service)) return problem('CONFLICT', 'The service has the name of a cost pool.')
  if (isAboveGlobs(rule, known)) {
    return problem('CONFLICT', `Limit reached: the globs of all rules may have ${GLOB_PLACES_MAX} characters.`)
  }
  return rule.versions.length > VERSIONS_MAX
    ? problem('CONFLICT', `Limit reached: at most ${VERSIONS_MAX} versions of a mapping rule from different times on.`)
    : undefined
}

/** A tenant above the limit, from before there was one, can change whatever costs no more. */
function isAboveGlobs(rule: StoredRule, known: Iterable<StoredRule>): boolean {
  let before = 0
  let after = globPlaces(rule)
  for (const each of known) {
    const places = globPlaces(each)
    before += places
    if (each.id !== rule.id) after += places
  }
  return after > GLOB_PLACES_MAX && after > before
}

/** The audit log is never erased: people do not appear in it by name. */
function auditedRule(rule: StoredRule) {
  const { version, from, to, priority, when, set } = newest(rule)
  return {
    name: rule.name,
    version,
    from,
    to,
    priority,
    when: when.map(({ field, key, match, value }) => ({
      field,
      ...(key !== undefined && { key }),
      match,
      ...(field !== 'identity' && { value }),
    })),
    set: { ...set, ...(set.tags && { tags: { ...set.tags } }) },
  }
}
