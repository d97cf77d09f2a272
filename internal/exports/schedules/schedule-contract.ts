import { z } from 'zod'
import { json, type Operation } from '../../http/contract/operation.js'
import type { ResourceContract } from '../../http/resource/resource-operations.js'
import { DELIVERY_FAILURES } from '../../records/delivery-failures.js'
import { exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { showFilters, shownFilters } from '../export-filters.js'
import { FILE_FORMATS, GROUPINGS } from '../export-request.js'
import { FOCUS_VERSIONS } from '../focus/columns.js'
import { CADENCES, PERIODS_MAINTAINED } from './periods.js'
import type { StoredProgress } from './progress.js'
import {
  SCHEDULE_STATUSES,
  type Schedule,
  type ScheduleChanges,
  type ScheduleFields,
  scheduleChanges,
  scheduleFields,
} from './schedule.js'

/** The OpenAPI contract of export schedules. */

const PATH = '/api/v1/export-schedules'
export const RUN_PATH = `${PATH}/:id/run`
export const TEST_PATH = `${PATH}/:id/test`

const shownSchedule = z
  .object({
    id: idOf('sch'),
    name: z.string(),
    status: z.enum(SCHEDULE_STATUSES),
    cadence: z.enum(CADENCES),
    format: z.literal('focus'),
    group_by: z.array(z.union([z.enum(GROUPINGS), z.string().regex(/^tags\./)])),
    filters: shownFilters(),
    file_format: z.enum(FILE_FORMATS),
    focus_version: z.enum(FOCUS_VERSIONS),
    columns: z.array(z.string()),
    destination: z
      .object({
        endpoint: z.string(),
        region: z.string(),
        bucket: z.string(),
        prefix: z.string(),
        path_style: z.boolean(),
        access_key_id: z.string(),
      })
      .meta({ id: 'ExportDestination', description: 'Without its secret access key, which is never returned.' }),
    created_at: timeText(),
    last_delivery: z
      .object({
        period: z.string(),
        revision: z.int().min(1),
        delivered_at: timeText(),
        manifest_key: z.string().meta({ description: 'Key of its manifest in the bucket.' }),
      })
      .nullable()
      .meta({ description: 'The newest one. Null: nothing is delivered yet.' }),
    pending: z
      .array(
        z.object({
          period: z.string(),
          revision: z.int().min(1),
          due_at: timeText(),
          failures: z.int().min(0).meta({ description: 'Failed attempts so far.' }),
          reason: z.enum(DELIVERY_FAILURES).nullable().meta({ description: 'Why the last attempt failed.' }),
          next_attempt_at: timeText(),
        }),
      )
      .meta({ description: 'The periods that are due and not delivered, oldest first.' }),
  })
  .meta({ id: 'ExportSchedule' })
export type ShownSchedule = z.infer<typeof shownSchedule>

const EXAMPLE_DESTINATION = {
  endpoint: 'https://s3.eu-central-1.amazonaws.com',
  region: 'eu-central-1',
  bucket: 'acme-finops',
  prefix: 'chargeback',
  path_style: false,
  access_key_id: 'AKIAIOSFODNN7EXAMPLE',
}

const EXAMPLE_SCHEDULE: ShownSchedule = {
  id: exampleId('sch'),
  name: 'Chargeback for the FinOps lake',
  status: 'active',
  cadence: 'monthly',
  format: 'focus',
  group_by: ['owner', 'provider'],
  filters: [],
  file_format: 'csv',
  focus_version: '1.4',
  columns: ['BilledCost', 'BillingPeriodStart'],
  destination: EXAMPLE_DESTINATION,
  created_at: '2026-09-20T09:30:00.000Z',
  last_delivery: {
    period: '2026-10',
    revision: 1,
    delivered_at: '2026-11-01T03:00:04.000Z',
    manifest_key: `chargeback/${exampleId('sch')}/2026-10/r0001/manifest.json`,
  },
  pending: [],
}

const EXAMPLE_FIELDS: ScheduleFields = {
  name: 'Chargeback for the FinOps lake',
  cadence: 'monthly',
  format: 'focus',
  group_by: ['owner', 'provider'],
  destination: { ...EXAMPLE_DESTINATION, secret_access_key: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' },
}

export const SCHEDULE: ResourceContract<ScheduleFields, ScheduleChanges> = {
  path: PATH,
  prefix: 'sch',
  tag: 'Exports',
  word: 'ExportSchedule',
  plural: 'ExportSchedules',
  order: 'newest first',
  record: shownSchedule,
  fields: scheduleFields,
  changes: scheduleChanges,
  example: {
    record: EXAMPLE_SCHEDULE,
    fields: EXAMPLE_FIELDS,
    changes: { status: 'paused' } satisfies ScheduleChanges,
  },
  descriptions: {
    create:
      "Writes a FOCUS export of each closed day or month to the tenant's own S3 bucket, some hours after the " +
      'period has ended. Below `<prefix>/<schedule id>/<period>/r<revision>/`, the files come first and ' +
      '`manifest.json` last; it has the digests and totals of the files and the digest of the manifest before ' +
      'it. When records of a delivered period change, the period is exported again as a new revision, at most ' +
      `once per day; objects are never overwritten or deleted. The last ${PERIODS_MAINTAINED.daily} days or ` +
      `${PERIODS_MAINTAINED.monthly} months are looked after.`,
    update: 'Cadence, filters and columns cannot be changed; create another schedule instead.',
    delete: 'Nothing more is delivered. What is in the bucket stays there.',
  },
  problems: { create: ['RESIDENCY_BLOCKED'], update: ['RESIDENCY_BLOCKED'] },
}

const tag = 'Exports'
const parameters = { id: idInPath('sch', 'Id of the schedule.') }

export const runBody = z
  .strictObject({
    period: z
      .string()
      .max(10)
      .nullish()
      .meta({
        description: 'A closed day or month that is still looked after. Default: the newest.',
        examples: ['2026-10'],
      }),
  })
  .meta({ id: 'ExportScheduleRun' })
export type RunBody = z.infer<typeof runBody>

export const EXAMPLE_RUN: RunBody = {}

export const RUN_SCHEDULE: Operation = {
  id: 'runExportSchedule',
  tag,
  summary: 'Deliver a period now',
  description:
    'Does not wait until the period is due. A period that was delivered is exported again; it becomes a new ' +
    'revision if its file has changed.',
  parameters,
  problems: ['CONFLICT'],
  replies: {
    202: {
      description: 'The delivery is requested.',
      contents: json(
        z.object({ schedule_id: idOf('sch'), period: z.string() }).meta({ id: 'RequestedExportScheduleRun' }),
        { schedule_id: exampleId('sch'), period: '2026-10' },
      ),
    },
  },
}

const testResult = z
  .object({
    status: z.enum(['succeeded', 'failed']),
    reason: z.enum(DELIVERY_FAILURES).nullable().meta({ description: 'Null if it succeeded.' }),
    response_status: z.int().nullable().meta({ description: 'HTTP status of a failure; null: no response.' }),
    probe_removed: z
      .boolean()
      .meta({ description: 'Whether the probe was deleted again: a schedule itself only needs s3:PutObject.' }),
  })
  .meta({ id: 'ExportScheduleTest' })
export type TestResult = z.infer<typeof testResult>

export const TEST_SCHEDULE: Operation = {
  id: 'testExportSchedule',
  tag,
  summary: 'Test the bucket of a schedule',
  description: 'Writes a small object, `<prefix>/<schedule id>/probe.txt`, and deletes it.',
  parameters,
  problems: ['RESIDENCY_BLOCKED'],
  replies: {
    200: {
      description: 'Whether the bucket accepts objects.',
      contents: json(testResult, { status: 'succeeded', reason: null, response_status: null, probe_removed: true }),
    },
  },
}

/** The schedule in wire form: names each member that is shown, so that no secret is shown by accident. */
export function showSchedule(schedule: Schedule, progress: StoredProgress | undefined): ShownSchedule {
  const { request, destination } = schedule
  const { filters = [], group_by, file_format, focus_version, columns } = request
  const byPeriod = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]) => (one < other ? -1 : 1)
  const delivered = Object.entries(progress?.delivered ?? {})
  const [newest] = delivered.sort(([, one], [, other]) => other.delivered_at_ms - one.delivered_at_ms)
  return {
    id: schedule.id,
    name: schedule.name,
    status: schedule.status,
    cadence: schedule.cadence,
    format: 'focus',
    group_by: [...group_by],
    filters: showFilters(filters),
    file_format,
    focus_version,
    columns: [...columns],
    destination: {
      endpoint: destination.endpoint,
      region: destination.region,
      bucket: destination.bucket,
      prefix: destination.prefix,
      path_style: destination.path_style,
      access_key_id: destination.access_key_id,
    },
    created_at: schedule.created_at,
    last_delivery:
      newest === undefined
        ? null
        : {
            period: newest[0],
            revision: newest[1].revision,
            delivered_at: timeOf(newest[1].delivered_at_ms),
            manifest_key: newest[1].manifest_key,
          },
    pending: Object.entries(progress?.pending ?? {})
      .sort(byPeriod)
      .map(([period, { revision, due_at_ms, failures, failure, next_at_ms }]) => ({
        period,
        revision,
        due_at: timeOf(due_at_ms),
        failures,
        reason: failure,
        next_attempt_at: timeOf(next_at_ms),
      })),
  }
}

const timeOf = (ms: number): string => new Date(ms).toISOString()
