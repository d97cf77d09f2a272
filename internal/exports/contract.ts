import { z } from 'zod'
import { json, type Operation } from '../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../http/contract/page.js'
import { count, decimalText, exampleId, idInPath, idOf, timeText } from '../text/answer-fields.js'
import { FOCUS_VERSIONS } from './focus/columns.js'
import { FAILURE_REASONS, JOB_STATUSES } from './job.js'
import { FILE_FORMATS, GROUPINGS } from './request.js'

/** What the routes of exports promise (spec 2.5, 4.3; design section 8). */

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

const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/)

const listedJob = z
  .object({
    job_id: idOf('job'),
    status: z.enum(JOB_STATUSES).meta({
      description: '`expired`: it succeeded, and its files were removed after 7 days.',
    }),
    status_url: z.string(),
    created_at: timeText(),
    finished_at: timeText().nullable(),
    format: z.literal('focus'),
    period: z.object({ from: day, to: day }),
    group_by: z.array(z.enum(GROUPINGS)).meta({ description: 'As it was understood: provider is always in it.' }),
    file_format: z.enum(FILE_FORMATS),
    focus_version: z.enum(FOCUS_VERSIONS),
    progress: z.object({ percent: z.int().min(0).max(100) }),
    failure: z
      .object({ reason: z.enum(FAILURE_REASONS), detail: z.string() })
      .nullable()
      .meta({ description: 'Why it failed; null unless it did.' }),
    rows: count().nullable().meta({ description: 'Of the file; null until it is there.' }),
    files_expire_at: timeText().nullable().meta({ description: 'When the files are removed.' }),
  })
  .meta({ id: 'ExportJob' })
export type ShownJob = z.infer<typeof listedJob>

const jobWithFiles = listedJob
  .extend({
    result_url: z.string().optional().meta({ description: 'Signed address of the file; each answer has a fresh one.' }),
    manifest_url: z.string().optional().meta({ description: 'The same of its manifest.' }),
    expires_at: timeText().optional().meta({ description: 'When these addresses expire.' }),
  })
  .meta({ id: 'ExportJobWithFiles' })
export type ShownJobWithFiles = z.infer<typeof jobWithFiles>

export const EXAMPLE_BODY = {
  format: 'focus',
  period: { from: '2026-10-01', to: '2026-10-31' },
  group_by: ['owner', 'provider'],
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
  summary: 'Order a chargeback file',
  description:
    'A file aligned with FOCUS (Cost and Usage), made by a job: of the records that may be charged back, with at least ' +
    'the confidence 0.80, as of when the job begins. A group in which one to four people appear is not shown: it is ' +
    'folded into a row of its month and provider (k = 5), whose cost stays in the totals. The manifest beside the file ' +
    'says what was left out and why, so that exported and left out are everything in the period. Amounts are what the ' +
    'calls cost by their records: the file is a ledger of the tenant, not to be added to the bill of a provider.',
  problems: ['CONFLICT', 'RESIDENCY_BLOCKED'],
  replies: {
    202: {
      description: 'The job waits for an exporter.',
      contents: json(createdJob, { job_id: exampleId('job'), status: 'queued', status_url: STATUS_PATH }),
    },
  },
}

export const LIST_JOBS: Operation = {
  id: 'listExportJobs',
  tag: 'Exports',
  summary: 'The export jobs of the tenant, the newest first',
  description: 'Jobs are listed for 40 days after they ended.',
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page.',
      contents: json(pageOf(listedJob), { data: [EXAMPLE_JOB], page: { limit: 50, has_more: false } }),
    },
  },
}

const DOWNLOAD = 'https://localhost:8080/v1/exports/files/dl_x'

export const GET_JOB: Operation = {
  id: 'getExportJob',
  tag: 'Exports',
  summary: 'One export job',
  parameters: { id: idInPath('job', 'job_id of the export.') },
  replies: {
    200: {
      description: 'The job; once it has succeeded, with addresses of its files.',
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

/** What lies beside each file. */
export const manifest = z
  .object({
    job_id: idOf('job'),
    tenant_id: idOf('tnt'),
    created_at: timeText(),
    as_of: timeText().meta({ description: 'The records are those of this instant.' }),
    period: z.object({ from: day, to: day, is_complete: z.boolean() }),
    group_by: z.array(z.enum(GROUPINGS)),
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
      energy_is_lower_bound: z.boolean().meta({ description: 'Whether it is unknown of some of the calls.' }),
      carbon_gco2e: decimalText(),
      carbon_is_lower_bound: z.boolean().meta({ description: 'Whether it is unknown of some of the calls.' }),
      invocations: count(),
    }),
    exported: amount,
    left_out: z.array(amount.extend({ reason: z.string() })),
    everything: amount,
    cohorts: z.object({ k: z.literal(5), groups_folded: count(), rows_of_folded_groups: count() }),
    delivery: z.object({ mode: z.literal('Overwrite'), correction: z.literal('Replacement'), scope: z.string() }),
    fields_left_out: z.record(z.string(), z.string()),
    focus: z.record(z.string(), z.unknown()).meta({ description: "The standard's metadata of the file." }),
  })
  .meta({ id: 'ExportManifest' })
export type Manifest = z.infer<typeof manifest>

const FILE_HEADERS = {
  ETag: z.string(),
  'Accept-Ranges': z.literal('bytes'),
  'Content-Disposition': z.string(),
}
const FILE = {
  'application/gzip': { schema: z.string().meta({ description: 'CSV (RFC 4180), packed.' }) },
  'application/vnd.apache.parquet': { schema: z.string() },
}

export const GET_FILE: Operation = {
  id: 'downloadExport',
  tag: 'Exports',
  summary: 'A file of an export job',
  description: 'By the address that the job gives, which permits it. Takes one byte range (RFC 9110 section 14).',
  parameters: {
    token: z.string().meta({ description: 'As the job gives it.', examples: ['dl_x'] }),
  },
  problems: ['DOWNLOAD_URL_INVALID', 'RATE_LIMITED', 'RANGE_NOT_SATISFIABLE', 'RESIDENCY_BLOCKED'],
  replies: {
    200: {
      description: 'The file, or its manifest.',
      headers: FILE_HEADERS,
      contents: { ...FILE, 'application/json': { schema: manifest } },
    },
    206: {
      description: 'The bytes that were asked for.',
      headers: { ...FILE_HEADERS, 'Content-Range': z.string() },
      contents: { ...FILE, 'application/json': { schema: z.string() } },
    },
    304: { description: 'The file is the one that the request names by its ETag.' },
  },
}
