import { z } from 'zod'
import { principalFields, serviceFields } from '../../directory/entries.js'
import { json, type Operation } from '../../http/contract/operation.js'
import { count, decimalText, exampleId, idInPath, timeText } from '../../text/answer-fields.js'
import {
  EXAMPLE_JOB,
  exampleMoves,
  jobFields,
  jobReplies,
  moveFields,
  periodFields,
  sumFields,
} from '../changes/asked-job-contract.js'
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
    ...periodFields,
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

export const periodBody = z.strictObject(periodFields).meta({ id: 'PricesApplication' })
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

const seen = count().meta({ description: 'Records looked at so far.' })

const job = z.object({ ...jobFields, seen, ...moveFields }).meta({ id: 'Reattribution' })
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
    seen,
    records: sumFields.records,
    cost_usd: decimalText().nullable().meta({ description: 'Null where only the number of records is known.' }),
  })
  .meta({ id: 'RecentAnswer' })
export type RecentAnswer = z.infer<typeof recent>

const MOVES = exampleMoves({
  from_service: 'search',
  from_owner: 'unassigned',
  to_service: 'search',
  to_owner: 'team-search',
})

const TAG = 'Attribution'
const replies = jobReplies<ShownReattribution>(job, {
  ...EXAMPLE_JOB,
  dry_run: false,
  from: '2026-11-01T00:00:00.000Z',
  ...MOVES,
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
  replies: replies.started('What would move.', { dry_run: true }),
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
  replies: replies.started('What has moved.', { dry_run: false }),
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
  replies: replies.started('What has been priced.', { dry_run: false, moves: [] }, ' /api/v1/reattributions/{id}'),
}

const parameters = { id: idInPath('rea', 'id of the job.') }

export const GET_REATTRIBUTION: Operation = {
  id: 'getReattribution',
  tag: TAG,
  summary: 'Get the status of a re-attribution, or of its dry run',
  parameters,
  problems: ['NOT_FOUND', 'RESIDENCY_BLOCKED', 'TENANT_MISMATCH'],
  replies: replies.job,
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
  replies: replies.started('What has moved back.', { dry_run: false }),
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
