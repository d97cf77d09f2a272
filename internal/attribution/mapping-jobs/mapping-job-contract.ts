import { z } from 'zod'
import { ruleFields } from '../../directory/mapping/mapping-rule.js'
import { EXAMPLE_RULE, PATH } from '../../directory/mapping/mapping-rule-contract.js'
import type { Operation } from '../../http/contract/operation.js'
import { count, exampleId, idInPath } from '../../text/answer-fields.js'
import {
  DAYS_DEFAULT,
  daysField,
  EXAMPLE_JOB,
  exampleMoves,
  jobFields,
  jobReplies,
  moveFields,
  periodFields,
} from '../changes/asked-job-contract.js'

/** The contract of what a mapping rule would change in records of the past, and of changing them. */

export const DRY_RUN_PATH = `${PATH}/dry-run`
export const APPLY_PATH = `${PATH}/apply`
export const JOBS_PATH = `${PATH}/jobs`

const ruleId = () =>
  z
    .string()
    .max(64)
    .meta({ examples: [exampleId('mrl')] })

export const dryRunBody = z
  .strictObject({
    days: daysField,
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
export const EXAMPLE_DRY_RUN: DryRunBody = { days: DAYS_DEFAULT, rule: EXAMPLE_RULE }

export const applyBody = z
  .strictObject({
    ...periodFields,
    rule: ruleId()
      .nullish()
      .meta({ description: 'Only what this rule decides now, or has decided; it may be deleted. Default: all rules.' }),
  })
  .meta({ id: 'MappingApplication' })
export type ApplyBody = z.infer<typeof applyBody>
export const EXAMPLE_APPLY: ApplyBody = { from: '2026-11-01T00:00:00Z', rule: exampleId('mrl') }

const job = z
  .object({
    ...jobFields,
    rule: z.string().nullable().meta({ description: 'Id of the rule; null: all rules.' }),
    seen: count().meta({ description: 'Records looked at so far, of all in the period that people have not decided.' }),
    ...moveFields,
  })
  .meta({ id: 'MappingJob' })
export type ShownJob = z.infer<typeof job>

const MOVES = exampleMoves({
  from_service: 'unallocated',
  from_owner: 'unallocated',
  to_service: 'developer-tools',
  to_owner: 'team-platform',
})

const TAG = 'Mapping rules'
const replies = jobReplies<ShownJob>(job, { ...EXAMPLE_JOB, rule: exampleId('mrl'), ...MOVES })

export const DRY_RUN: Operation = {
  id: 'dryRunMappingRule',
  tag: TAG,
  summary: 'Show what a mapping rule would change in records of the last days, before it is saved',
  description:
    'Nothing changes, and nothing is saved. Records of the period are attributed again with the rule in place, by ' +
    'the directory as it is now; what the rule would decide, or no longer decide, is counted. Overridden and ' +
    'disputed records stay as they are.',
  problems: ['CONFLICT', 'NOT_FOUND', 'RESIDENCY_BLOCKED', 'TENANT_MISMATCH'],
  replies: replies.started('What would change.', { dry_run: true }),
}

export const APPLY: Operation = {
  id: 'applyMappingRules',
  tag: TAG,
  summary: 'Apply mapping rules to records of the past',
  description:
    'A job attributes the records of the period again. Those that a rule decides, or has decided, and that come out ' +
    'differently, get a new version at the same cost. Overridden and disputed records stay as they are.',
  problems: ['RESIDENCY_BLOCKED', 'TENANT_MISMATCH', 'NOT_FOUND'],
  replies: replies.started('What has changed.', { dry_run: false }),
}

export const GET_JOB: Operation = {
  id: 'getMappingJob',
  tag: TAG,
  summary: 'Get the status of a dry run, or of applying rules',
  parameters: { id: idInPath('rea', 'Id of the job.') },
  problems: ['NOT_FOUND', 'RESIDENCY_BLOCKED', 'TENANT_MISMATCH'],
  replies: replies.job,
}
