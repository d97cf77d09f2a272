import { createHash } from 'node:crypto'
import { z } from 'zod'
import { count, decimalText, idOf, timeText } from '../../text/answer-fields.js'
import { manifest as exportManifest, type Manifest } from '../export-contract.js'
import type { StoredJob } from '../export-job.js'
import type { Period } from './periods.js'
import type { StoredProgress, Writing } from './progress.js'
import { placeOf, type Schedule } from './schedule.js'

/** The manifest of a delivery: the last object that is written, after the files that it lists. */

const deliveredFile = z.object({
  key: z.string(),
  media_type: z.string(),
  bytes: count(),
  sha256: z.string(),
})

const deliveryManifest = z
  .object({
    manifest_version: z.literal(1),
    schedule_id: idOf('sch'),
    tenant_id: idOf('tnt'),
    sequence: z.int().min(1).meta({ description: 'Of the manifests of the schedule: 1, 2, … without a gap.' }),
    period: z.object({ name: z.string(), from: z.string(), to: z.string() }),
    revision: z.int().min(1).meta({ description: 'Of the period. A higher one replaces all lower ones.' }),
    supersedes: z.int().min(1).nullable().meta({ description: 'The revision that this one replaces.' }),
    job_id: idOf('job'),
    as_of: timeText(),
    created_at: timeText(),
    files: z.array(deliveredFile).meta({ description: "The FOCUS file, then the export's own manifest." }),
    rows: count(),
    totals: exportManifest.shape.totals,
    exported: z.object({ count: count(), cost_usd: decimalText() }),
    previous: z
      .object({ key: z.string(), sha256: z.string() })
      .nullable()
      .meta({ description: "The schedule's manifest before this one. Null: this is the first in its place." }),
  })
  .meta({ id: 'DeliveryManifest' })
export type DeliveryManifest = z.infer<typeof deliveryManifest>

const REVISION_DIGITS = 4

/** Prefix of the objects of a revision: no two revisions share an object. */
export const objectPrefix = (
  { id, destination: { prefix } }: Pick<Schedule, 'id' | 'destination'>,
  period: Pick<Period, 'name'>,
  revision: number,
): string => {
  const folder = prefix === '' ? '' : `${prefix.replace(/\/+$/, '')}/`
  return `${folder}${id}/${period.name}/r${String(revision).padStart(REVISION_DIGITS, '0')}/`
}

/**
 * The keys of the data file and of the export's own manifest. They carry the job's id: another job never overwrites
 * them.
 */
export function fileKeys(prefix: string, { id, result }: Pick<StoredJob, 'id'> & { readonly result: JobResult }) {
  return { file: `${prefix}${result.file.name}`, details: `${prefix}${id}.export.json` }
}
type JobResult = NonNullable<StoredJob['result']>

/**
 * The manifest as it will be written. Everything in it comes from the job and the progress, so that the same delivery
 * has the same text.
 *
 * @param job has succeeded
 * @param details the export's own manifest
 */
export function writingOf(
  schedule: Pick<Schedule, 'id' | 'tenant_id' | 'destination'>,
  period: Period,
  revision: number,
  job: Pick<StoredJob, 'id' | 'finished_at'> & { readonly result: JobResult },
  details: Manifest,
  head: StoredProgress['head'],
): Writing {
  const prefix = objectPrefix(schedule, period, revision)
  const keys = fileKeys(prefix, job)
  const { file, manifest } = job.result
  const sequence = (head?.sequence ?? 0) + 1
  const place = placeOf(schedule.destination)
  const previous = head?.place === place ? { key: head.key, sha256: head.sha256 } : null
  const content: DeliveryManifest = {
    manifest_version: 1,
    schedule_id: schedule.id,
    tenant_id: schedule.tenant_id,
    sequence,
    period: { name: period.name, from: period.from, to: period.to },
    revision,
    supersedes: revision === 1 ? null : revision - 1,
    job_id: job.id,
    as_of: details.as_of,
    created_at: job.finished_at ?? details.created_at,
    files: [
      { key: keys.file, media_type: file.media_type, bytes: file.bytes, sha256: file.sha256 },
      { key: keys.details, media_type: manifest.media_type, bytes: manifest.bytes, sha256: manifest.sha256 },
    ],
    rows: job.result.rows,
    totals: details.totals,
    exported: details.exported,
    previous,
  }
  const text = `${JSON.stringify(content, null, 2)}\n`
  const key = `${prefix}manifest.json`
  return {
    period: period.name,
    job_id: job.id,
    place,
    key,
    text,
    sha256: createHash('sha256').update(text).digest('hex'),
    sequence,
    delivered: {
      revision,
      file_sha256: file.sha256,
      as_of_ms: Date.parse(details.as_of),
      manifest_key: key,
      is_changed: false,
    },
  }
}
