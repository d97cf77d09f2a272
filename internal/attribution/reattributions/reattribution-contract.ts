import { z } from 'zod'
import { principalFields, serviceFields } from '../../directory/entries.js'
import { json, type Operation } from '../../http/contract/operation.js'
import { count, decimalText, exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { instant } from '../../text/plain-text.js'
import { poolFields } from '../pools/pool.js'

/** The contract of changes of entries that also move calls of the past, of trying them, and of undoing them. */

export const PATH = '/api/v1/reattributions'
export const DRY_RUN_PATH = `${PATH}/dry-run`
export const PRICES_PATH = '/api/v1/prices/apply'
/** Answers that the list has at most, and how long it has them. */
export const RECENT_MAX = 50
export const RECENT_DAYS = 30

export const answerBody = z
  .strictObject({
    from: instant().meta({ description: 'Calls made at or after this time.' }),
    to: instant().nullish().meta({ description: 'Calls made before this time. Default: now.' }),
    service: serviceFields.nullish(),
    principal: principalFields.nullish(),
    pool: poolFields.nullish(),
  })
  .refine(
    ({ service, principal, pool }) => [service, principal, pool].filter((each) => each != null).length <= 1,
    'must state at most one of service, principal and pool',
  )
  .meta({
    id: 'NewReattribution',
    description:
      'An entry of the directory, or a cost pool, as it is to be. Of one that exists, omitted optional fields are ' +
      'unchanged. Without one: all calls of the period are attributed again by what there is now.',
  })
export type AnswerBody = z.infer<typeof answerBody>
export const EXAMPLE_ANSWER: AnswerBody = {
  from: '2026-11-01T00:00:00Z',
  service: { name: 'search', owner: 'team-search' },
}

export const periodBody = z
  .strictObject({
    from: instant().meta({ description: 'Calls made at or after this time.' }),
    to: instant().nullish().meta({ description: 'Calls made before this time. Default: now.' }),
  })
  .meta({ id: 'PricesApplication' })
export type PeriodBody = z.infer<typeof periodBody>
export const EXAMPLE_PERIOD: PeriodBody = { from: '2026-11-01T00:00:00Z' }

const what = z
  .enum(['service', 'principal', 'pool', 'mapping_rule', 'calls', 'call', 'name', 'prices', 'period'])
  .meta({
    description:
      'What was answered: an entry (`service`, `principal`, `pool`), mapping rules that were applied, an override of ' +
      'many `calls` or of one `call`, an unknown `name` that became an alias, `prices` for calls without one, or all ' +
      'calls of a `period`.',
  })

const entry = z
  .record(z.string(), z.unknown())
  .nullable()
  .meta({ description: 'The entry, or the override, without what is not set; null: there was none, or is none.' })

const sum = { records: count(), cost_usd: decimalText() }
const figures = {
  seen: count().meta({ description: 'Records looked at so far.' }),
  ...sum,
  unnamed: count().meta({
    description: 'Records that stay as they are, because the name of their identity is not stored.',
  }),
}

const moves = z
  .array(
    z.object({
      from_service: z.string(),
      from_owner: z.string(),
      to_service: z.string(),
      to_owner: z.string(),
      ...sum,
    }),
  )
  .meta({
    description:
      'The changed records by service and owner before and after, the most costly first; at most 1,000, the others ' +
      'in one. A person who owns her own calls is `(the caller)`.',
  })

const job = z
  .object({
    id: idOf('rea'),
    status: z.enum(['running', 'done', 'cancelled']),
    dry_run: z.boolean(),
    from: timeText(),
    to: timeText(),
    ...figures,
    moves,
    created_at: timeText(),
  })
  .meta({ id: 'Reattribution' })
export type ShownReattribution = z.infer<typeof job>

const recent = z
  .object({
    id: z.string().meta({ description: 'Of the job; of an override of one call, of its record.' }),
    what,
    name: z.string().nullable().meta({ description: 'Of the entry, rule or name; null of overrides.' }),
    before: entry,
    after: entry,
    actor: z.string().nullable().meta({ description: 'Id of the credential.' }),
    created_at: timeText(),
    status: z.enum(['running', 'done', 'cancelled', 'undone']),
    can_undo: z.boolean(),
    seen: figures.seen,
    records: sum.records,
    cost_usd: decimalText().nullable().meta({ description: 'Null where only the number of records is known.' }),
  })
  .meta({ id: 'RecentAnswer' })
export type RecentAnswer = z.infer<typeof recent>

const EXAMPLE: ShownReattribution = {
  id: exampleId('rea'),
  status: 'done',
  dry_run: false,
  from: '2026-11-01T00:00:00.000Z',
  to: '2026-11-21T09:30:00.000Z',
  seen: 48_211,
  records: 1_204,
  cost_usd: '18.42',
  unnamed: 0,
  moves: [
    {
      from_service: 'search',
      from_owner: 'unassigned',
      to_service: 'search',
      to_owner: 'team-search',
      records: 1_204,
      cost_usd: '18.42',
    },
  ],
  created_at: '2026-11-21T09:30:00.000Z',
}

const TAG = 'Attribution'
const state = (description: string, example: ShownReattribution) => ({ description, contents: json(job, example) })
const replies = (done: string, dryRun: boolean) => ({
  200: state(done, { ...EXAMPLE, dry_run: dryRun }),
  202: state('The job still runs; `GET` shows how far it is.', {
    ...EXAMPLE,
    dry_run: dryRun,
    status: 'running',
    seen: 10_000,
  }),
})
const problems = ['CONFLICT', 'NOT_FOUND', 'RESIDENCY_BLOCKED', 'TENANT_MISMATCH'] as const

export const DRY_RUN: Operation = {
  id: 'dryRunReattribution',
  tag: TAG,
  summary: 'Show which calls of the past a change of an entry would move, before it is made',
  description:
    'Nothing changes, and nothing is saved. Records of the period are attributed again with the entry, without it, and ' +
    'as it was; those that come out differently are counted. Overridden and disputed records stay as they are.',
  problems: [...problems],
  replies: replies('What would move.', true),
}

export const REATTRIBUTE: Operation = {
  id: 'reattribute',
  tag: TAG,
  summary: 'Re-attribute calls of the past, together with a change of an entry or by what there is now',
  description:
    'The entry is stored as by its own routes. A job then attributes the records of the period again; those that the ' +
    'change moves get a new version, at the same cost. Without an entry, all that come out differently do: after an ' +
    'import, SCIM, or a training; that cannot be undone. Overridden and disputed records stay as they are.',
  problems: [...problems],
  replies: replies('What has moved.', false),
}

export const PRICE_UNPRICED: Operation = {
  id: 'applyPrices',
  tag: 'Prices',
  summary: 'Price calls of the past that have no price',
  description:
    'A job gives the records of the period that have no cost, or no energy and carbon, what the present prices, price ' +
    'book and energy tables say for the time of the call. Existing values stay; this cannot be undone. The price of a ' +
    'model must be in force at the time of the calls (`valid_from`). `cost_usd` of the job is what is added.',
  problems: ['RESIDENCY_BLOCKED', 'TENANT_MISMATCH'],
  replies: {
    200: state('What has been priced.', { ...EXAMPLE, moves: [] }),
    202: state('The job still runs; `GET /api/v1/reattributions/{id}` shows how far it is.', {
      ...EXAMPLE,
      status: 'running',
      moves: [],
    }),
  },
}

const parameters = { id: idInPath('rea', 'id of the job.') }

export const GET_REATTRIBUTION: Operation = {
  id: 'getReattribution',
  tag: TAG,
  summary: 'Get the status of a re-attribution, or of its dry run',
  parameters,
  problems: ['NOT_FOUND', 'RESIDENCY_BLOCKED', 'TENANT_MISMATCH'],
  replies: { 200: state('The job.', EXAMPLE) },
}

export const UNDO: Operation = {
  id: 'undoReattribution',
  tag: TAG,
  summary: 'Undo a change of an entry, and re-attribute the calls that it had moved',
  description:
    'The entry becomes what it was, and a job re-attributes the calls of the same period and those since. Returns ' +
    '409 if the entry has changed since, or did not change, the job is still running, or it was undone already.',
  parameters,
  problems: [...problems],
  replies: replies('What has moved back.', false),
}

export const LIST_RECENT: Operation = {
  id: 'listRecentAnswers',
  tag: TAG,
  summary: 'List recent changes that moved calls of the past, newest first',
  description:
    `From the audit log of the last ${RECENT_DAYS} days, at most ${RECENT_MAX}: entries that were changed together ` +
    'with the past, mapping rules that were applied, overrides, and names that became aliases. What undid one of ' +
    'them is its status, or an answer of its own. `can_undo` tells which can still be undone, each by its own route.',
  problems: ['RESIDENCY_BLOCKED'],
  replies: {
    200: {
      description: 'The answers.',
      contents: json(z.object({ data: z.array(recent) }), {
        data: [
          {
            id: exampleId('rea'),
            what: 'service',
            name: 'search',
            before: null,
            after: { name: 'search', owner: 'team-search' },
            actor: exampleId('usr'),
            created_at: '2026-11-21T09:30:00.000Z',
            status: 'done',
            can_undo: true,
            seen: 48_211,
            records: 1_204,
            cost_usd: '18.42',
          },
        ],
      }),
    },
  },
}
