import { z } from 'zod'
import { placesOf } from '../../text/globs.js'
import { instant, name, plainText } from '../../text/plain-text.js'
import { parseInstant } from '../../units/instant.js'
import { serviceName } from '../entries.js'

/**
 * A mapping rule: conditions on what a call says of itself, and the service, owner and tags of calls that meet them.
 */

/** Rules per tenant. */
export const RULES_MAX = 500
const CONDITIONS_MAX = 8
const TAGS_MAX = 8
/**
 * Places in the globs of a tenant's rules (`text/globs.ts`), which each character of what they test costs: at most some
 * tenths of a millisecond per call.
 */
export const GLOB_PLACES_MAX = 32_768
/** Above it, globs may cost a call more than the rest of its attribution. 500 rules of the usual kind are below it. */
const COSTLY_GLOB_PLACES = 8_192
/** Versions of a rule that still hold for some time; those that newer ones replace for all times are not kept. */
export const VERSIONS_MAX = 64
const PRIORITY_MAX = 10_000
const PRIORITY_DEFAULT = 100

/** What conditions test, beside tags, which need a key. */
export const TESTED_FIELDS = ['key_alias', 'team', 'namespace', 'user_agent', 'identity', 'model'] as const
export type TestedField = (typeof TESTED_FIELDS)[number] | 'tag'
export const MATCHES = ['exact', 'prefix', 'glob'] as const
export type Match = (typeof MATCHES)[number]

export interface Condition {
  readonly field: TestedField
  /** Of a tag. */
  readonly key?: string
  readonly match: Match
  readonly value: string
}

export interface Outcome {
  readonly service: string
  /** Absent: that of the service in the directory, and so on, as for a stated service. */
  readonly owner?: string
  readonly tags?: Readonly<Record<string, string>>
}

/** What a rule says until it is changed. */
export interface RuleVersion {
  /** From 1. */
  readonly version: number
  /** RFC 3339 in UTC; by the time of the call. null: calls of all times. */
  readonly from: string | null
  /** The first instant at which it no longer holds. null: none. */
  readonly to: string | null
  /** Among rules that match the lowest number wins, then the first by name. */
  readonly priority: number
  readonly when: readonly Condition[]
  readonly set: Outcome
  readonly stated_at: string
}

/** A rule in the bucket `mapping_rules`, under its id. */
export interface StoredRule {
  readonly id: string
  readonly tenant_id: string
  readonly name: string
  readonly created_at: string
  /** Oldest first; at least one. */
  readonly versions: readonly RuleVersion[]
}

const match = () => z.enum(MATCHES).meta({ description: 'In a glob `*` stands for any characters, `?` for one.' })
const condition = z
  .union([
    z.strictObject({
      field: z.literal('tag'),
      key: plainText(64).meta({ description: 'Key of the tag, compared trimmed, in NFC and without case.' }),
      match: match(),
      value: name(),
    }),
    z.strictObject({ field: z.enum(TESTED_FIELDS), match: match(), value: name() }),
  ])
  .meta({
    id: 'MappingCondition',
    description:
      '`key_alias` and `team` are the tags of these names, `namespace` is `k8s_namespace`, `user_agent` the tag ' +
      '`caller.user-agent`, `identity` is `attributed_identity`, or any name of that person in the directory, `model` ' +
      'the requested or the served model. Values are compared trimmed, in NFC and without case.',
  })

const outcome = z
  .strictObject({
    service: serviceName().meta({ description: 'A name or alias of the directory, or another name.' }),
    owner: name().nullish().meta({ description: 'Default: the owner of the service in the directory.' }),
    tags: z
      .record(plainText(64), plainText(256))
      .meta({ maxProperties: TAGS_MAX })
      .refine((tags) => Object.keys(tags).length <= TAGS_MAX, `must have at most ${TAGS_MAX} tags`)
      .nullish()
      .meta({ description: 'Of declared tag keys; a tag that the call states itself stays.' }),
  })
  .meta({ id: 'MappingOutcome' })

const when = () => z.array(condition).min(1).max(CONDITIONS_MAX).meta({ description: 'A call must meet all of them.' })
const priority = () =>
  z
    .int()
    .min(0)
    .max(PRIORITY_MAX)
    .meta({ description: `Lower numbers win; ties are broken by name. Default: ${PRIORITY_DEFAULT}.` })
const from = () =>
  instant().nullish().meta({ description: 'Calls made at or after this time. null: calls of all times.' })
const to = () => instant().nullish().meta({ description: 'Calls made before this time. null: no end.' })

export const ruleFields = z
  .strictObject({
    name: name().meta({ description: 'Records show it. It never changes.' }),
    priority: priority().nullish(),
    from: from(),
    to: to(),
    when: when(),
    set: outcome,
  })
  .refine(isPeriod, { path: ['to'], message: 'must be after from' })
export type RuleFields = z.infer<typeof ruleFields>

export const ruleChanges = z
  .strictObject({
    priority: priority().optional(),
    from: from(),
    to: to(),
    when: when().optional(),
    set: outcome.optional(),
  })
  .refine(isPeriod, { path: ['to'], message: 'must be after from' })
export type RuleChanges = z.infer<typeof ruleChanges>

interface StatedPeriod {
  readonly from?: string | null | undefined
  readonly to?: string | null | undefined
}

function isPeriod({ from: start, to: end }: StatedPeriod): boolean {
  return start == null || end == null || startMs(start) < endMs(end)
}

/** Milliseconds since the epoch; checked when the rule was stated. */
export const startMs = (from: string | null): number =>
  from === null ? Number.NEGATIVE_INFINITY : (parseInstant(from) ?? 0)
export const endMs = (to: string | null): number => (to === null ? Number.POSITIVE_INFINITY : (parseInstant(to) ?? 0))

export const storedRule = (fields: RuleFields, id: string, tenantId: string, nowMs: number): StoredRule => {
  const at = new Date(nowMs).toISOString()
  return {
    id,
    tenant_id: tenantId,
    name: fields.name,
    created_at: at,
    versions: [
      {
        version: 1,
        from: fields.from ?? null,
        to: fields.to ?? null,
        priority: fields.priority ?? PRIORITY_DEFAULT,
        when: conditionsOf(fields.when),
        set: outcomeOf(fields.set),
        stated_at: at,
      },
    ],
  }
}

/**
 * A rule with a further version: it holds from its `from` on in place of all versions before it, which still hold for
 * calls from before that time.
 */
export function changedRule(rule: StoredRule, changes: RuleChanges, nowMs: number): StoredRule {
  const last = newest(rule)
  const next: RuleVersion = {
    version: last.version + 1,
    from: changes.from === undefined ? last.from : changes.from,
    to: changes.to === undefined ? last.to : changes.to,
    priority: changes.priority ?? last.priority,
    when: changes.when === undefined ? last.when : conditionsOf(changes.when),
    set: changes.set === undefined ? last.set : outcomeOf(changes.set),
    stated_at: new Date(nowMs).toISOString(),
  }
  // A repeat of the request makes no further version.
  if (JSON.stringify({ ...next, ...stampOf(last) }) === JSON.stringify(last)) return rule
  const stay = rule.versions.filter((version) => startMs(version.from) < startMs(next.from))
  return { ...rule, versions: [...stay, next] }
}

const stampOf = ({ version, stated_at }: RuleVersion) => ({ version, stated_at })

export const newest = ({ versions }: StoredRule): RuleVersion => {
  const last = versions.at(-1)
  if (last === undefined) throw new Error('a mapping rule has no version')
  return last
}

/** Of the costliest version of a rule: one of them is tried. */
export const globPlaces = ({ versions }: Pick<StoredRule, 'versions'>): number =>
  Math.max(
    ...versions.map(({ when }) =>
      when.reduce((sum, { match, value }) => sum + (match === 'glob' ? placesOf(value) : 0), 0),
    ),
  )

/** Whether rules may cost a call more than the rest of its attribution. */
export function haveCostlyGlobs(rules: Iterable<Pick<StoredRule, 'versions'>>): boolean {
  let places = 0
  for (const rule of rules) places += globPlaces(rule)
  return places > COSTLY_GLOB_PLACES
}

const conditionsOf = (stated: RuleFields['when']): Condition[] =>
  stated.map((each) => ({
    field: each.field,
    ...('key' in each && { key: each.key }),
    match: each.match,
    value: each.value,
  }))

const outcomeOf = ({ service, owner, tags }: RuleFields['set']): Outcome => ({
  service,
  ...(owner != null && { owner }),
  ...(tags != null && Object.keys(tags).length > 0 && { tags }),
})
