import { z } from 'zod'
import type { Operation } from '../../http/contract/operation.js'
import { count, decimalText, exampleId, idInPath } from '../../text/answer-fields.js'
import { conventionFields } from '../../valuation/conventions/convention.js'
import { CONVENTIONS_PATH, EXAMPLE_CONVENTION } from '../../valuation/conventions/convention-contract.js'
import {
  DAYS_DEFAULT,
  daysField,
  EXAMPLE_JOB,
  jobFields,
  jobReplies,
  periodFields,
} from '../changes/asked-job-contract.js'

/** The contract of what a usage convention would change in records of the past, and of changing them. */

export const DRY_RUN_PATH = `${CONVENTIONS_PATH}/dry-run`
export const APPLY_PATH = `${CONVENTIONS_PATH}/apply`
export const JOBS_PATH = `${CONVENTIONS_PATH}/jobs`

export const dryRunBody = z
  .strictObject({
    days: daysField,
    convention: conventionFields.nullish().meta({ description: 'The convention as it would be added.' }),
    replaces: z
      .string()
      .max(64)
      .nullish()
      .meta({
        description: 'Id of the convention that it would replace; without `convention`: that would be deleted.',
        examples: [exampleId('ucv')],
      }),
  })
  .refine(({ convention, replaces }) => convention != null || replaces != null, {
    path: ['convention'],
    message: 'must be given, or replaces',
  })
  .meta({ id: 'UsageConventionDryRun' })
export type DryRunBody = z.infer<typeof dryRunBody>
export const EXAMPLE_DRY_RUN: DryRunBody = { days: DAYS_DEFAULT, convention: EXAMPLE_CONVENTION }

export const applyBody = z.strictObject(periodFields).meta({ id: 'UsageConventionApplication' })
export type ApplyBody = z.infer<typeof applyBody>
export const EXAMPLE_APPLY: ApplyBody = { from: '2026-11-01T00:00:00Z' }

const job = z
  .object({
    ...jobFields,
    seen: count().meta({ description: 'Records looked at so far, of all in the period that people have not decided.' }),
    records: count().meta({ description: 'Of these, records that are read in another way.' }),
    cost_usd: decimalText().meta({ description: 'By how much their cost changes.' }),
    ambiguous: count().meta({ description: 'Records that remain ambiguous.' }),
  })
  .meta({ id: 'UsageConventionJob' })
export type ShownJob = z.infer<typeof job>

const TAG = 'Usage conventions'
const replies = jobReplies<ShownJob>(job, { ...EXAMPLE_JOB, ambiguous: 0 })

export const DRY_RUN: Operation = {
  id: 'dryRunUsageConvention',
  tag: TAG,
  summary: 'Show what a usage convention would change in records of the last days, before it is added',
  description:
    'Nothing changes, and nothing is saved. Records of the period whose counts can be read in two ways are valued ' +
    'with the convention in place. Overridden and disputed records stay as they are.',
  problems: ['NOT_FOUND', 'RESIDENCY_BLOCKED', 'TENANT_MISMATCH'],
  replies: replies.started('What would change.', { dry_run: true }),
}

export const APPLY: Operation = {
  id: 'applyUsageConventions',
  tag: TAG,
  summary: 'Apply the usage conventions to records of the past',
  description:
    'A job values the records of the period again whose counts can be read in two ways. Those that are then read in ' +
    'another way get a new version. Overridden and disputed records stay as they are.',
  problems: ['RESIDENCY_BLOCKED', 'TENANT_MISMATCH'],
  replies: replies.started('What has changed.', { dry_run: false }),
}

export const GET_JOB: Operation = {
  id: 'getUsageConventionJob',
  tag: TAG,
  summary: 'Get the status of a dry run, or of applying usage conventions',
  parameters: { id: idInPath('rea', 'Id of the job.') },
  problems: ['NOT_FOUND', 'RESIDENCY_BLOCKED', 'TENANT_MISMATCH'],
  replies: replies.job,
}
