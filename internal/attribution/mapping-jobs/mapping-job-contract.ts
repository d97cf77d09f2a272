import { z } from 'zod'
import { ruleFields } from '../../directory/mapping/mapping-rule.js'
import { EXAMPLE_RULE, PATH } from '../../directory/mapping/mapping-rule-contract.js'
import { json, type Operation } from '../../http/contract/operation.js'
import { count, decimalText, exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { instant } from '../../text/plain-text.js'

/** The contract of what a mapping rule would change in records of the past, and of changing them. */

export const DRY_RUN_PATH = `${PATH}/dry-run`
export const APPLY_PATH = `${PATH}/apply`
export const JOBS_PATH = `${PATH}/jobs`
export const DAYS_MAX = 92
export const DAYS_DEFAULT = 30

const ruleId = () =>
  z
    .string()
    .max(64)
    .meta({ examples: [exampleId('mrl')] })

export const dryRunBody = z
  .strictObject({
    days: z
      .int()
      .min(1)
      .max(DAYS_MAX)
      .nullish()
      .meta({ description: `Calls of the last so many days. Default: ${DAYS_DEFAULT}.` }),
    rule: ruleFields.nullish().meta({ description: 'The rule as it would be saved.' }),
    replaces: ruleId()
      .nullish()
      .meta({ description: 'Id of the rule that it would replace; without `rule`: that would be deleted.' }),
  })
  .refine(({ rule, replaces }) => rule != null || replaces != null, {
    path: ['rule'],
    message: 'must be given, or replaces',
  })
  .meta({ id: 'MappingDryRun' })
export type DryRunBody = z.infer<typeof dryRunBody>
export const EXAMPLE_DRY_RUN: DryRunBody = { days: 30, rule: EXAMPLE_RULE }

export const applyBody = z
  .strictObject({
    from: instant().meta({ description: 'Calls made at or after this time.' }),
    to: instant().nullish().meta({ description: 'Calls made before this time. Default: now.' }),
    rule: ruleId()
      .nullish()
      .meta({ description: 'Only what this rule decides now, or has decided; it may be deleted. Default: all rules.' }),
  })
  .meta({ id: 'MappingApplication' })
export type ApplyBody = z.infer<typeof applyBody>
export const EXAMPLE_APPLY: ApplyBody = { from: '2026-11-01T00:00:00Z', rule: exampleId('mrl') }

const sum = { records: count(), cost_usd: decimalText() }

const job = z
  .object({
    id: idOf('rea'),
    status: z.enum(['running', 'done', 'cancelled']),
    dry_run: z.boolean(),
    rule: z.string().nullable().meta({ description: 'Id of the rule; null: all rules.' }),
    from: timeText(),
    to: timeText(),
    seen: count().meta({ description: 'Records looked at so far, of all in the period that people have not decided.' }),
    ...sum,
    unnamed: count().meta({
      description: 'Records that stay as they are, because the name of their identity is not stored.',
    }),
    moves: z
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
          'The changed records by service and owner before and after, the most costly first; at most 1,000, the ' +
          'others in one. A person who owns her own calls is `(the caller)`.',
      }),
    created_at: timeText(),
  })
  .meta({ id: 'MappingJob' })
export type ShownJob = z.infer<typeof job>

const EXAMPLE: ShownJob = {
  id: exampleId('rea'),
  status: 'done',
  dry_run: true,
  rule: exampleId('mrl'),
  from: '2026-10-22T09:30:00.000Z',
  to: '2026-11-21T09:30:00.000Z',
  seen: 48_211,
  records: 1_204,
  cost_usd: '18.42',
  unnamed: 0,
  moves: [
    {
      from_service: 'unallocated',
      from_owner: 'unallocated',
      to_service: 'developer-tools',
      to_owner: 'team-platform',
      records: 1_204,
      cost_usd: '18.42',
    },
  ],
  created_at: '2026-11-21T09:30:00.000Z',
}

const TAG = 'Mapping rules'
const state = (description: string, example: ShownJob) => ({ description, contents: json(job, example) })
const replies = (done: string, dryRun: boolean) => ({
  200: state(done, { ...EXAMPLE, dry_run: dryRun }),
  202: state('The job still runs; `GET` shows how far it is.', {
    ...EXAMPLE,
    dry_run: dryRun,
    status: 'running',
    seen: 10_000,
  }),
})

export const DRY_RUN: Operation = {
  id: 'dryRunMappingRule',
  tag: TAG,
  summary: 'Show what a mapping rule would change in records of the last days, before it is saved',
  description:
    'Nothing changes, and nothing is saved. Records of the period are attributed again with the rule in place, by ' +
    'the directory as it is now; what the rule would decide, or no longer decide, is counted. Overridden and ' +
    'disputed records stay as they are.',
  problems: ['CONFLICT', 'NOT_FOUND', 'RESIDENCY_BLOCKED', 'TENANT_MISMATCH'],
  replies: replies('What would change.', true),
}

export const APPLY: Operation = {
  id: 'applyMappingRules',
  tag: TAG,
  summary: 'Apply mapping rules to records of the past',
  description:
    'A job attributes the records of the period again. Those that a rule decides, or has decided, and that come out ' +
    'differently, get a new version at the same cost. Overridden and disputed records stay as they are.',
  problems: ['RESIDENCY_BLOCKED', 'TENANT_MISMATCH', 'NOT_FOUND'],
  replies: replies('What has changed.', false),
}

export const GET_JOB: Operation = {
  id: 'getMappingJob',
  tag: TAG,
  summary: 'Get the status of a dry run, or of applying rules',
  parameters: { id: idInPath('rea', 'Id of the job.') },
  problems: ['NOT_FOUND', 'RESIDENCY_BLOCKED', 'TENANT_MISMATCH'],
  replies: { 200: state('The job.', EXAMPLE) },
}
