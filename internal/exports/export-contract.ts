import { z } from 'zod'
import { COHORT_SCOPES } from '../auth/tenant.js'
import { json, type Operation } from '../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../http/contract/page.js'
import { count, decimalText, exampleId, idInPath, idOf, timeText } from '../text/answer-fields.js'
import { shownFilters, suppressedFilters } from './export-filters.js'
import { FAILURE_REASONS, JOB_STATUSES } from './export-job.js'
import { FILE_FORMATS, GROUPINGS } from './export-request.js'
import { FOCUS_VERSIONS } from './focus/columns.js'

/** The OpenAPI contract of the export routes. */

export const PATH = '/v1/exports/focus'
export const JOBS_PATH = '/api/v1/jobs'

const STATUS_PATH = `${JOBS_PATH}/${exampleId('job')}`

const createdJob = z
  .object({
    job_id: idOf('job'),
    status: z.literal('queued'),
    status_url: z.string().meta({ description: 'Path of the job.' }),
  })
  .meta({ id: 'CreatedExportJob' })

/** A dimension, or a declared tag. */
const groupingName = () => z.union([z.enum(GROUPINGS), z.string().regex(/^tags\./)])

const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/)

const listedJob = z
  .object({
    job_id: idOf('job'),
    status: z.enum(JOB_STATUSES).meta({
      description: '`expired`: the job succeeded and its files were deleted after 7 days.',
    }),
    status_url: z.string(),
    created_at: timeText(),
    finished_at: timeText().nullable(),
    format: z.literal('focus'),
    period: z.object({ from: day, to: day }),
    group_by: z
      .array(groupingName())
      .meta({ description: 'The effective grouping, the coarsest first; `provider` is always included.' }),
    filters: shownFilters(),
    suppressed: suppressedFilters().optional(),
    file_format: z.enum(FILE_FORMATS),
    focus_version: z.enum(FOCUS_VERSIONS),
    progress: z.object({ percent: z.int().min(0).max(100) }),
    failure: z
      .object({ reason: z.enum(FAILURE_REASONS), detail: z.string() })
      .nullable()
      .meta({ description: 'Why the job failed; null unless it failed.' }),
    rows: count().nullable().meta({ description: 'Number of rows in the file; null until the file is ready.' }),
    files_expire_at: timeText().nullable().meta({ description: 'When the files are deleted.' }),
  })
  .meta({ id: 'ExportJob' })
export type ShownJob = z.infer<typeof listedJob>

const jobWithFiles = listedJob
  .extend({
    result_url: z
      .string()
      .optional()
      .meta({ description: 'Signed download URL of the file; every response contains a new one.' }),
    manifest_url: z.string().optional().meta({ description: 'Signed download URL of the manifest.' }),
    expires_at: timeText().optional().meta({ description: 'When the download URLs expire.' }),
  })
  .meta({ id: 'ExportJobWithFiles' })
export type ShownJobWithFiles = z.infer<typeof jobWithFiles>

export const EXAMPLE_BODY = {
  format: 'focus',
  period: { from: '2026-10-01', to: '2026-10-31' },
  group_by: ['owner', 'provider'],
  filters: [{ field: 'service', operator: 'in', values: ['support-chat', 'search'] }],
} as const

const EXAMPLE_JOB: ShownJob = {
  job_id: exampleId('job'),
  status: 'succeeded',
  status_url: STATUS_PATH,
  created_at: '2026-11-21T09:30:00.000Z',
  finished_at: '2026-11-21T09:30:04.000Z',
  format: 'focus',
  period: { from: '2026-10-01', to: '2026-10-31' },
  group_by: ['owner', 'provider'],
  filters: [{ field: 'service', operator: 'in', values: ['support-chat', 'search'] }],
  file_format: 'csv',
  focus_version: '1.4',
  progress: { percent: 100 },
  failure: null,
  rows: 42,
  files_expire_at: '2026-11-28T09:30:04.000Z',
}

export const CREATE_EXPORT: Operation = {
  id: 'createFocusExport',
  tag: 'Exports',
  summary: 'Create a chargeback export',
  description:
    'Starts a job that writes a file aligned with FOCUS (Cost and Usage). The file contains the records that are ' +
    'eligible for chargeback, with a confidence of at least 0.80, that match the filters, as of the start of the ' +
    'job. Groups of fewer people than `min_cohort` (5 by default) are folded into their nearest ancestor with ' +
    'enough people, at most into the row of their month and provider, by the rule of reports; their cost stays ' +
    'in the totals. The manifest lists what was left out and why; exported and left-out records together are all ' +
    'records of the period that the filters select. Amounts are the costs of the attribution records: the file ' +
    "is the tenant's own ledger and must not be added to a provider's bill.",
  problems: ['CONFLICT', 'RESIDENCY_BLOCKED'],
  replies: {
    202: {
      description: 'The job is queued.',
      headers: { Location: z.string().meta({ description: 'Path of the job, as `status_url`.' }) },
      contents: json(createdJob, { job_id: exampleId('job'), status: 'queued', status_url: STATUS_PATH }),
    },
  },
}

export const LIST_JOBS: Operation = {
  id: 'listExportJobs',
  tag: 'Exports',
  summary: 'List export jobs, newest first',
  description: 'Jobs are listed for 40 days after they end.',
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page of export jobs.',
      contents: json(pageOf(listedJob), { data: [EXAMPLE_JOB], page: { limit: 50, has_more: false } }),
    },
  },
}

const DOWNLOAD = 'https://localhost:8080/v1/exports/files/dl_x'

export const GET_JOB: Operation = {
  id: 'getExportJob',
  tag: 'Exports',
  summary: 'Get an export job',
  parameters: { id: idInPath('job', 'job_id of the export.') },
  replies: {
    200: {
      description: 'The job; after it has succeeded, with download URLs of its files.',
      contents: json(jobWithFiles, {
        ...EXAMPLE_JOB,
        result_url: DOWNLOAD,
        manifest_url: DOWNLOAD,
        expires_at: '2026-11-21T09:45:04.000Z',
      }),
    },
  },
}

const amount = z.object({ count: count(), cost_usd: decimalText() })

/** The manifest that accompanies each export file. */
export const manifest = z
  .object({
    suppressed: suppressedFilters().optional(),
    job_id: idOf('job'),
    tenant_id: idOf('tnt'),
    created_at: timeText(),
    as_of: timeText().meta({ description: 'The file contains the records as of this time.' }),
    period: z.object({ from: day, to: day, is_complete: z.boolean() }),
    group_by: z.array(groupingName()),
    filters: shownFilters(),
    widened_filters: z
      .array(z.string())
      .meta({ description: 'Fields of the filters that were dropped; see `suppressed`.' }),
    scope: z.enum(['requested', 'parent']).meta({
      description: '`parent`: the file is that of a larger group than the filters asked for; see `suppressed`.',
    }),
    file: z.object({
      name: z.string(),
      format: z.enum(FILE_FORMATS),
      compression: z.enum(['gzip', 'none']),
      media_type: z.string(),
      bytes: count(),
      sha256: z.string(),
      rows: count(),
    }),
    totals: z.object({
      billed_cost: decimalText(),
      effective_cost: decimalText(),
      list_cost: decimalText(),
      contracted_cost: decimalText(),
      energy_wh: decimalText(),
      energy_is_lower_bound: z.boolean().meta({ description: 'Whether energy is unknown for some of the calls.' }),
      energy_has_class_estimates: z.boolean().meta({
        description: 'Whether energy and carbon of some of the calls are estimated from the class of their model.',
      }),
      carbon_gco2e: decimalText(),
      carbon_is_lower_bound: z.boolean().meta({ description: 'Whether carbon is unknown for some of the calls.' }),
      invocations: count(),
    }),
    exported: amount,
    left_out: z.array(amount.extend({ reason: z.string() })),
    everything: amount.meta({
      description: 'Everything in the period that the applied filters select: exported and left out.',
    }),
    cohorts: z.object({
      k: z.int().min(5).meta({ description: '`min_cohort` of the tenant when the job started.' }),
      scope: z.enum(COHORT_SCOPES).meta({
        description: '`cohort_scope` of the tenant when the job started: every group folds, or what names people.',
      }),
      groups_folded: count(),
      rows_of_folded_groups: count(),
    }),
    delivery: z.object({ mode: z.literal('Overwrite'), correction: z.literal('Replacement'), scope: z.string() }),
    fields_left_out: z.record(z.string(), z.string()),
    focus: z.record(z.string(), z.unknown()).meta({ description: 'FOCUS metadata of the file.' }),
  })
  .meta({ id: 'ExportManifest' })
export type Manifest = z.infer<typeof manifest>

const FILE_HEADERS = {
  ETag: z.string(),
  'Accept-Ranges': z.literal('bytes'),
  'Content-Disposition': z.string(),
}
const FILE = {
  'application/gzip': { schema: z.string().meta({ description: 'CSV (RFC 4180), compressed with gzip.' }) },
  'application/vnd.apache.parquet': { schema: z.string() },
}

export const GET_FILE: Operation = {
  id: 'downloadExport',
  tag: 'Exports',
  summary: 'Download an export file',
  description: 'The signed URL from the job is the authorization. Supports a single byte range (RFC 9110 section 14).',
  parameters: {
    token: z.string().meta({ description: 'Token from the download URL of the job.', examples: ['dl_x'] }),
  },
  problems: ['DOWNLOAD_URL_INVALID', 'RATE_LIMITED', 'RANGE_NOT_SATISFIABLE', 'RESIDENCY_BLOCKED'],
  replies: {
    200: {
      description: 'The file or its manifest.',
      headers: FILE_HEADERS,
      contents: { ...FILE, 'application/json': { schema: manifest } },
    },
    206: {
      description: 'The requested byte range.',
      headers: { ...FILE_HEADERS, 'Content-Range': z.string() },
      contents: { ...FILE, 'application/json': { schema: z.string() } },
    },
    304: { description: 'The file matches the ETag in If-None-Match.' },
  },
}
