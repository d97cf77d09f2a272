import { z } from 'zod'
import { FILTER_FIELDS, FILTERS_MAX, OPERATORS } from '../../filters/filter-fields.js'
import { statedValues } from '../../filters/stated.js'
import { json, type Operation } from '../../http/contract/operation.js'
import { count, decimalText, exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { overrideBody } from '../changes/reattribution-contract.js'

/** The contract of overrides of many records at once. */

export const PATH = '/v1/attribution/overrides'
/** Records of one override. */
export const RECORDS_MAX = 250_000
/**
 * Versions that overrides of a tenant have replaced. They stay, so that undoing restores them, and each read of its
 * records leaves them out: a million takes a quarter of a second, and beyond four million reads fail.
 */
export const REPLACED_MAX = 1_000_000
/** How long a dry run can be applied. */
export const TOKEN_MINUTES = 60

const fieldName = () =>
  z.union([
    z.enum(Object.keys(FILTER_FIELDS) as (keyof typeof FILTER_FIELDS)[]),
    z.string().regex(/^tags\./, 'must be a field of records, or tags.<key>'),
  ])

const filter = z
  .strictObject({
    field: fieldName().meta({ description: 'As in `GET /v1/attribution`, or `tags.<key>` of a declared tag key.' }),
    operator: z.enum(OPERATORS).meta({ description: 'One that the field takes in `GET /v1/attribution`.' }),
    values: statedValues().meta({ description: 'One value; for `in` one or more, of which a record must have one.' }),
  })
  .meta({ id: 'RecordFilter', description: 'The JSON form of `filter[<field>][<operator>]=<value>`.' })

const preview = z
  .strictObject({
    dry_run: z.literal(true),
    filters: z.array(filter).min(1).max(FILTERS_MAX).meta({ description: 'A record must match all of them.' }),
    ...overrideBody.shape,
  })
  .meta({ id: 'OverridesDryRun' })

const application = z
  .strictObject({
    dry_run: z.literal(false),
    token: z
      .string()
      .max(64)
      .meta({ description: 'From the reply to the dry run.', examples: [exampleId('ovr')] }),
  })
  .meta({ id: 'OverridesApplication' })

export const overridesBody = z.discriminatedUnion('dry_run', [preview, application]).meta({ id: 'OverridesRequest' })
export type OverridesBody = z.infer<typeof overridesBody>

const FILTERS = [{ field: 'service', operator: 'eq', values: ['unallocated'] }] as const
const VALUES = { service: 'support-chat', owner: 'team-support', reason: 'The proxy does not send its service.' }
export const EXAMPLE_DRY_RUN: OverridesBody = {
  dry_run: true,
  filters: FILTERS.map(({ values, ...of }) => ({ ...of, values: [...values] })),
  ...VALUES,
}

const amount = { records: count(), cost_usd: decimalText() }
const ofOwner = z.object({ service: z.string(), owner: z.string(), ...amount })

const previewed = z
  .object({
    token: idOf('ovr').meta({ description: 'Applies exactly this override, once. Also its id once it is applied.' }),
    expires_at: timeText(),
    ...amount,
    before: z.array(ofOwner).meta({
      description:
        'The records by service and owner, the most costly first, at most 1,000 of them. A person who owns her own ' +
        'calls is `(the caller)`.',
    }),
    after: z.array(ofOwner),
    implausible_cost: z.object(amount).meta({
      description:
        'Of the records, those whose stated cost cannot be right. Overriding them makes them eligible for chargeback.',
    }),
    unchanged: z.object({ overridden: count(), disputed: count() }).meta({
      description: 'Records that match and stay as they are, because people have already decided on them.',
    }),
  })
  .meta({ id: 'OverridesPreview' })
export type ShownPreview = z.infer<typeof previewed>

const OVERRIDE_STATUSES = ['running', 'applied', 'cancelled', 'undoing', 'undone'] as const

const bulkOverride = z
  .object({
    id: idOf('ovr'),
    status: z.enum(OVERRIDE_STATUSES),
    filters: z.array(z.object({ field: z.string(), operator: z.enum(OPERATORS), values: z.array(z.string()) })),
    service: z.string(),
    owner: z.string(),
    reason: z.string(),
    records: count().meta({ description: 'Records of the dry run.' }),
    overridden: count().meta({
      description: 'Records overridden so far. Fewer than `records` in the end if some were changed after the dry run.',
    }),
    restored: count().nullable().meta({
      description:
        'Records restored so far; null until the override is undone. Those overridden again since stay as they are.',
    }),
    created_at: timeText(),
  })
  .meta({ id: 'BulkOverride' })
export type ShownOverride = z.infer<typeof bulkOverride>

const EXAMPLE: ShownOverride = {
  id: exampleId('ovr'),
  status: 'applied',
  filters: FILTERS.map(({ values, ...of }) => ({ ...of, values: [...values] })),
  ...VALUES,
  records: 30_204,
  overridden: 30_204,
  restored: null,
  created_at: '2026-11-21T09:30:00.000Z',
}

const TAG = 'Attribution'
const state = (description: string, example: ShownOverride) => ({ description, contents: json(bulkOverride, example) })

export const OVERRIDE_MANY: Operation = {
  id: 'overrideAttributions',
  tag: TAG,
  summary: 'Override all records that match filters',
  description:
    'Two requests. With `dry_run` true nothing changes: the reply tells which records would be overridden, by ' +
    'service and owner, ' +
    `and has a token for exactly these. The token is valid for ${TOKEN_MINUTES} minutes. With \`dry_run\` false ` +
    'and the token, a job overrides each of them as `POST /v1/attribution/{id}/override` does. Records that arrived ' +
    'or changed after the dry run are not taken. ' +
    `Overridden and disputed records stay as they are. At most ${RECORDS_MAX.toLocaleString('en')} records, and ` +
    `${REPLACED_MAX.toLocaleString('en')} over all of a tenant's overrides. Returns 409 beyond, or if the ` +
    'token is used or expired.',
  problems: ['CONFLICT', 'RESIDENCY_BLOCKED', 'TENANT_MISMATCH'],
  replies: {
    200: {
      description: 'The result of the dry run, or the applied override.',
      contents: json(z.union([previewed, bulkOverride]), {
        token: exampleId('ovr'),
        expires_at: '2026-11-21T10:30:00.000Z',
        records: 30_204,
        cost_usd: '412.5',
        before: [{ service: 'unallocated', owner: 'unassigned', records: 30_204, cost_usd: '412.5' }],
        after: [{ service: 'support-chat', owner: 'team-support', records: 30_204, cost_usd: '412.5' }],
        implausible_cost: { records: 0, cost_usd: '0' },
        unchanged: { overridden: 12, disputed: 0 },
      }),
    },
    202: state('A job overrides the records. Its status shows how far it is.', {
      ...EXAMPLE,
      status: 'running',
      overridden: 10_000,
    }),
  },
}

const parameters = { id: idInPath('ovr', 'id of the override.') }

export const GET_OVERRIDES: Operation = {
  id: 'getOverrides',
  tag: TAG,
  summary: 'Get the status of an override of many records',
  parameters,
  problems: ['NOT_FOUND', 'TENANT_MISMATCH'],
  replies: { 200: state('The override.', EXAMPLE) },
}

export const UNDO_MANY: Operation = {
  id: 'undoOverrides',
  tag: TAG,
  summary: 'Undo an override of many records',
  description:
    'A job restores each record as it was before. Records whose override was undone, or that were overridden again ' +
    'since, stay as they are; an open dispute stays open. Returns 409 if the override is still running, or was ' +
    'undone already.',
  parameters,
  problems: ['CONFLICT'],
  replies: {
    200: state('The override is undone.', { ...EXAMPLE, status: 'undone', restored: 30_204 }),
    202: state('A job restores the records. Its status shows how far it is.', {
      ...EXAMPLE,
      status: 'undoing',
      restored: 10_000,
    }),
  },
}
