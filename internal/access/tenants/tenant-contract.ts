import { z } from 'zod'
import {
  COHORT_MAX,
  COHORT_MIN,
  COHORT_SCOPES,
  DELAYED_SETTINGS,
  DELEGATIONS,
  UNDECLARED_SERVICES,
} from '../../auth/tenant.js'
import { json, type Operation } from '../../http/contract/operation.js'
import { DIMENSIONS_MAX, foldKey, TAG_VALUES_MAX } from '../../records/dimensions.js'
import { REGION_PATTERN } from '../../residency/residency.js'
import { decimalText, exampleId, idOf, timeText } from '../../text/answer-fields.js'
import { instant, name, plainText } from '../../text/plain-text.js'
import { parseInstant } from '../../units/instant.js'
import { readZone } from '../../units/time-zone.js'

/** The contract of the settings routes. */

const OWNER_FALLBACKS = ['identity', 'unassigned'] as const
const KEY_LIFE_DAYS_MAX = 3_650
const RETENTION_DAYS = { min: 30, max: 3_650 } as const
const STATED_COST_FACTOR = { min: 2, max: 1_000_000 } as const
const PER_SECOND_MAX = 10_000_000

const perSecond = () => z.int().min(1).max(PER_SECOND_MAX)
const ownLimit = () => z.strictObject({ per_second: perSecond(), burst: perSecond().optional() }).nullable().optional()

const FACTORS_MAX = 32
const factor = z
  .strictObject({
    zone: z.string().regex(/^[A-Z]{3}$/, 'must be a three-letter country code, or WOR or EEE'),
    gco2e_per_kwh: z.string().regex(/^\d{1,6}(?:\.\d{1,9})?$/, 'must be a decimal string'),
    source: name().meta({ description: 'Source of the figure. Shown in the explanation.' }),
    from: instant().nullable().default(null),
    to: instant().nullable().default(null).meta({ description: 'The end of the period, exclusive.' }),
  })
  .refine(({ from, to }) => from === null || to === null || (parseInstant(from) ?? 0) < (parseInstant(to) ?? 0), {
    path: ['to'],
    message: 'must be later than from',
  })
const gridPatch = z
  .strictObject({
    zone: z
      .string()
      .regex(/^[A-Za-z0-9-]{2,32}$/, 'must be a zone such as SWE, or a cloud region')
      .nullable()
      .default(null),
    factors: z.array(factor).max(FACTORS_MAX).default([]),
  })
  .meta({
    id: 'GridPatch',
    description:
      'The zone of calls that state no region, and emissions per kWh by zone and period; of several that apply, ' +
      'the one with the latest `from`. Applies to calls that are attributed after the change. In an unknown ' +
      'zone, carbon stays unknown.',
  })

const TAG_KEY_BYTES_MAX = 64
const dimension = z.strictObject({
  key: plainText(TAG_KEY_BYTES_MAX)
    .regex(/^[^\s[\],](?:[^[\],]*[^\s[\],])?$/, 'must not contain brackets or commas, nor begin or end with a space')
    .meta({
      description: `Key of the tag in events, at most ${TAG_KEY_BYTES_MAX} bytes. Events may spell it in other case.`,
    }),
  personal: z.boolean().default(false).meta({
    description:
      'Whether its values name people. They then count as people in reports, which show no group of fewer than five.',
  }),
})
const dimensionsPatch = z
  .array(dimension)
  .max(DIMENSIONS_MAX)
  .refine(
    (all) => new Set(all.map(({ key }) => foldKey(key))).size === all.length,
    'must not repeat a key, whatever its case',
  )
  .meta({
    description:
      `Tag keys, at most ${DIMENSIONS_MAX}, whose values become members, filters and groups of records, reports ` +
      'and exports: the whole list, which replaces the one before. Applies to calls that are attributed after ' +
      'the change. A removed key keeps its values, and shows them again when it is declared again.',
  })

const TRUSTED_FIELD = /^[a-z][a-z-]{0,31}\.(?:service|identity|key_alias|team|namespace|tag\.[^\s[\],]{1,64})$/
const TRUSTED_FIELD_FORM = 'must be an intake and one of its fields, such as otlp.key_alias or otlp.tag.project'

/** Each member replaces its setting; null removes it. */
export const settingsPatch = z
  .strictObject({
    name: name().optional(),
    owner_fallback: z.enum(OWNER_FALLBACKS).optional(),
    undeclared_services: z.enum(UNDECLARED_SERVICES).optional(),
    require_directory: z.boolean().optional().meta({
      description: 'True sets `undeclared_services` to declared, false to resolved, unless that is stated too.',
    }),
    stage_b_enabled: z.boolean().optional(),
    merge_seen_calls: z.boolean().optional(),
    require_second_factor: z.boolean().optional(),
    residency_region: z
      .string()
      .regex(REGION_PATTERN, 'must be a region in lower case, such as eu-central-1')
      .nullable()
      .optional(),
    grid: gridPatch.nullable().optional(),
    stated_cost_factor: z.int().min(STATED_COST_FACTOR.min).max(STATED_COST_FACTOR.max).optional(),
    stated_cost_ceiling_usd: z
      .string()
      .regex(/^\d{1,12}(?:\.\d{1,18})?$/, 'must be a decimal string')
      .optional(),
    charge_upper_bounds: z.boolean().optional(),
    api_key_max_lifetime_days: z.int().min(1).max(KEY_LIFE_DAYS_MAX).optional(),
    retention_days: z.int().min(RETENTION_DAYS.min).max(RETENTION_DAYS.max).optional(),
    dimensions: dimensionsPatch.optional(),
    time_zone: z
      .string()
      .max(64)
      .refine((text) => readZone(text) !== undefined, 'must be a name from the tz database')
      .optional(),
    min_cohort: z.int().min(COHORT_MIN).max(COHORT_MAX).optional(),
    cohort_scope: z.enum(COHORT_SCOPES).optional(),
    delegation: z.enum(DELEGATIONS).optional(),
    trusted_fields: z.array(z.string().regex(TRUSTED_FIELD, TRUSTED_FIELD_FORM)).max(64).optional(),
    rate_limits: z
      .strictObject({
        ingest: ownLimit(),
        read: ownLimit(),
        report: ownLimit(),
        control: ownLimit(),
        token: ownLimit(),
      })
      .nullable()
      .optional()
      .meta({
        description:
          'By class of operation, each at most the limit set by the operator. Default of `burst`: the default of ' +
          "the class. Null restores the operator's limit, or else the instance's.",
      }),
  })
  .meta({ id: 'SettingsPatch' })
export type SettingsPatch = z.infer<typeof settingsPatch>

const limit = z.object({ per_second: z.number(), burst: z.number() })

const settings = z
  .object({
    tenant_id: idOf('tnt'),
    name: z.string().meta({ description: 'Display name.' }),
    created_at: timeText(),
    owner_fallback: z.enum(OWNER_FALLBACKS).meta({
      description: 'Owner of a call whose owner is not in the directory: the identity as given, or nobody.',
    }),
    undeclared_services: z.enum(UNDECLARED_SERVICES).meta({
      description:
        'How a stated service counts that is not in the directory: as declared only (confidence 0.70, not for ' +
        'chargeback), or as resolved. `auto`: as declared if the directory has services. Names are compared ' +
        'trimmed, in NFC and without case.',
    }),
    require_directory: z.boolean().meta({
      description: 'Whether `undeclared_services` is declared; for clients that do not know that setting.',
    }),
    stage_b_enabled: z
      .boolean()
      .meta({ description: 'Whether trained inference may attribute calls that the facts leave open.' }),
    merge_seen_calls: z.boolean().meta({
      description:
        'Whether a call that two sources show (another credential or another intake) is one record: events with ' +
        'the same provider and `response_id`, or the same `trace_id` and `span_id`. Applies to calls that arrive ' +
        'after the change.',
    }),
    require_second_factor: z.boolean().meta({
      description:
        'Whether people who sign in by password also need a code from an authenticator app (TOTP, RFC 6238). ' +
        'Those without one set it up at their next sign-in.',
    }),
    residency_region: z
      .string()
      .nullable()
      .meta({ description: "Region in which the tenant's data must stay. Null: any." }),
    grid: z
      .object({
        zone: z.string().nullable(),
        factors: z
          .array(
            z.object({
              zone: z.string(),
              gco2e_per_kwh: z.string(),
              source: z.string(),
              from: timeText().nullable(),
              to: timeText().nullable(),
            }),
          )
          .readonly(),
      })
      .nullable()
      .meta({ description: "The tenant's own data about its electricity. Null: the defaults of the method." }),
    stated_cost_factor: z.int().meta({
      description:
        'A stated cost of more than this many times the price, or of less than this part of it, is ' +
        '`implausible_cost`: it counts, but not for chargeback until the record is overridden. Applies to calls ' +
        'that are attributed after the change.',
    }),
    stated_cost_ceiling_usd: decimalText().meta({
      description: 'A stated cost of one call above this is `implausible_cost` too.',
    }),
    charge_upper_bounds: z.boolean().meta({
      description:
        'Whether records with `cost_bound` upper may be charged back; without it their `export_eligibility` is ' +
        'cost_upper_bound. Applies to calls that are attributed after the change, and to earlier ones when they ' +
        'are valued again.',
    }),
    api_key_max_lifetime_days: z.int().meta({ description: 'Longest lifetime of a new API key.' }),
    retention_days: z.int().meta({
      description:
        'Retention of call records, by the day (UTC) of the call. Older ones are deleted within an hour, and ' +
        'reports no longer include them.',
    }),
    dimensions: z
      .array(z.object({ key: z.string(), personal: z.boolean(), declared_at: timeText() }))
      .readonly()
      .meta({
        description:
          'Tag keys that are dimensions. Records of calls that were attributed before `declared_at` have the ' +
          `value \`(not declared)\`. Of each key ${TAG_VALUES_MAX} values are kept apart; further ones become ` +
          '`(other values)`.',
      }),
    time_zone: z.string().meta({
      description: 'Time zone of the periods of budgets that state none: a name from the tz database.',
      examples: ['Europe/Berlin'],
    }),
    rate_limits: z
      .object({ ingest: limit, read: limit, report: limit, control: limit, token: limit })
      .meta({ description: 'The limits in force, whether or not the tenant has set them.' }),
    min_cohort: z.int().meta({
      description:
        'Reports, adoption and exports show no group of fewer people: it is folded into its parent. Applies to ' +
        'the next report and export.',
    }),
    cohort_scope: z.enum(COHORT_SCOPES).meta({
      description:
        'What `min_cohort` protects. `all`: every group. `people`: services, teams and cost centres that the ' +
        'directory lists are always named; what names people folds (owners who are people, names that the directory ' +
        'does not list, personal tags, adoption). Where only few people have such names, their one folded row, or ' +
        'the total without all listed names, may be a single person.',
    }),
    delegation: z.enum(DELEGATIONS).meta({
      description:
        'What a credential may give to API keys, clients, connectors and people. `held`: only scopes, layers and ' +
        'trust in stated costs that it holds itself, except for an owner. `any`: everything; only an owner may set it.',
    }),
    trusted_fields: z
      .array(z.string())
      .readonly()
      .meta({
        description:
          'What gateways (`is_gateway`) of this tenant vouch for although callers of a gateway could write it: intake and ' +
          'field, such as `otlp.key_alias`, `envoy.identity` or `bedrock-log.identity` (names of role sessions). Else ' +
          'free metadata over OTLP, headers, and names of role sessions are claims, whatever credential sent them. A change states the whole list.',
      }),
    identity_provider: z
      .object({
        name: z.string().meta({ description: 'As the sign-in page names it.' }),
        issuer: z.string(),
        only: z.boolean().meta({ description: 'Whether nobody signs in by password any more.' }),
        id: idOf('idp').meta({ description: 'For `POST /api/v1/identity-providers/{id}/check`.' }),
      })
      .nullable()
      .meta({
        description:
          'The OpenID provider at which people sign in. Set by the operator (`attribution identity-provider ' +
          'set`). Null: none.',
      }),
    pending_changes: z
      .array(
        z.object({
          setting: z.enum(DELAYED_SETTINGS),
          to: z.union([z.int(), z.string()]).nullable(),
          requested_by: z.string().meta({ description: 'Id of the credential that asked for it.' }),
          requested_at: timeText(),
          takes_effect_at: timeText(),
        }),
      )
      .readonly()
      .meta({
        description:
          'Changes that destroy data, decide where it may be, or show what was hidden. They wait 24 hours and can be cancelled.',
      }),
    k: z.number().meta({ description: 'The same as `min_cohort`.' }),
  })
  .meta({ id: 'Settings' })
export type ShownSettings = z.infer<typeof settings>

const EXAMPLE_SETTINGS: ShownSettings = {
  tenant_id: exampleId('tnt'),
  name: 'Example',
  created_at: '2026-11-21T09:30:00.000Z',
  owner_fallback: 'identity',
  undeclared_services: 'auto',
  require_directory: false,
  stage_b_enabled: true,
  merge_seen_calls: true,
  require_second_factor: false,
  residency_region: 'eu-central-1',
  grid: null,
  stated_cost_factor: 20,
  stated_cost_ceiling_usd: '1000',
  charge_upper_bounds: false,
  api_key_max_lifetime_days: 365,
  retention_days: 400,
  dimensions: [{ key: 'team', personal: false, declared_at: '2026-11-21T09:30:00.000Z' }],
  time_zone: 'UTC',
  min_cohort: COHORT_MIN,
  cohort_scope: 'all',
  rate_limits: {
    ingest: { per_second: 20_000, burst: 40_000 },
    read: { per_second: 50, burst: 200 },
    report: { per_second: 10, burst: 50 },
    control: { per_second: 10, burst: 50 },
    token: { per_second: 5, burst: 20 },
  },
  delegation: 'held',
  trusted_fields: [],
  identity_provider: { name: 'Example SSO', issuer: 'https://sso.example.com', only: false, id: exampleId('idp') },
  pending_changes: [
    {
      setting: 'retention_days',
      to: 90,
      requested_by: exampleId('usr'),
      requested_at: '2026-11-21T09:30:00.000Z',
      takes_effect_at: '2026-11-22T09:30:00.000Z',
    },
  ],
  k: COHORT_MIN,
}
export const EXAMPLE_PATCH: SettingsPatch = {
  undeclared_services: 'declared',
  rate_limits: { read: { per_second: 20 } },
}

export const PATH = '/api/v1/settings'

export const GET_SETTINGS: Operation = {
  id: 'getSettings',
  tag: 'Settings',
  summary: "Get the tenant's settings",
  replies: { 200: { description: 'All settings.', contents: json(settings, EXAMPLE_SETTINGS) } },
}

export const UPDATE_SETTINGS: Operation = {
  id: 'updateSettings',
  tag: 'Settings',
  summary: "Change the tenant's settings",
  description:
    'Omitted fields are unchanged. A field that is unknown or cannot be set is refused. Shorter retention, and a ' +
    'region that is changed or lifted, wait for 24 hours in `pending_changes` and emit ' +
    '`settings.change.scheduled`. To state the setting again replaces the waiting change, or cancels it.',
  replies: { 200: { description: 'All settings after the change.', contents: json(settings, EXAMPLE_SETTINGS) } },
}

export const PENDING_PATH = `${PATH}/pending-changes/:setting`

export const CANCEL_CHANGE: Operation = {
  id: 'cancelSettingsChange',
  tag: 'Settings',
  summary: 'Cancel a pending change of the settings',
  parameters: {
    setting: z.string().meta({ description: 'The setting of the change.', examples: [...DELAYED_SETTINGS] }),
  },
  replies: { 204: { description: 'Cancelled.' } },
}
