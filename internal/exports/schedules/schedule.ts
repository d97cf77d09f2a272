import { z } from 'zod'
import { REGION_PATTERN } from '../../residency/residency.js'
import type { MasterKeys } from '../../secrets/master-keys.js'
import { seal, unseal } from '../../secrets/seal.js'
import type { CanonicalValue } from '../../text/canonical-json.js'
import { name } from '../../text/plain-text.js'
import { showFilters } from '../export-filters.js'
import { type ExportRequest, exportBody } from '../export-request.js'
import { CADENCES, type Cadence } from './periods.js'

/**
 * A schedule: FOCUS exports of a tenant that are written to its own bucket, and the bodies that create and change one.
 */

/** Schedules per tenant. */
export const SCHEDULES_MAX = 20

export const SCHEDULE_STATUSES = ['active', 'paused'] as const

/** A schedule in the bucket `export_schedules`, under its id. */
export interface Schedule {
  readonly id: string
  readonly tenant_id: string
  readonly name: string
  readonly status: (typeof SCHEDULE_STATUSES)[number]
  readonly cadence: Cadence
  readonly request: Omit<ExportRequest, 'period'>
  readonly destination: StoredDestination
  /** The newest request to run. */
  readonly run: { readonly id: string; readonly period: string; readonly requested_at: string } | null
  /** Id of the credential that created it. */
  readonly created_by: string
  readonly created_at: string
}

export interface StoredDestination {
  /** Canonical https URL. */
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  /** Without a slash at its end; may be empty. */
  readonly prefix: string
  readonly path_style: boolean
  readonly access_key_id: string
  /** The sealed secret access key. */
  readonly secret: string
}

const PREFIX_CHARACTERS_MAX = 512
const PRINTABLE = /^[!-~]+$/

const destination = z
  .strictObject({
    endpoint: z
      .string()
      .min(1)
      .max(2_048)
      .nullish()
      .meta({
        description:
          'https URL of an S3-compatible store, without a path. Default: AWS S3 in the region. Only public ' +
          'addresses, as for webhooks, are called.',
        examples: ['https://s3.eu-central-1.amazonaws.com'],
      }),
    region: z
      .string()
      .regex(REGION_PATTERN, 'must be a region in lower case, such as eu-central-1')
      .meta({
        description: "Region of the bucket. It must be the tenant's `residency_region`, if it has one.",
        examples: ['eu-central-1'],
      }),
    bucket: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
      .meta({ examples: ['acme-finops'] }),
    prefix: z
      .string()
      .max(PREFIX_CHARACTERS_MAX)
      .regex(
        /^(?:[A-Za-z0-9_.=-]+(?:\/[A-Za-z0-9_.=-]+)*\/?)?$/,
        'must consist of letters, digits and . _ = - between single slashes',
      )
      .refine((text) => !text.split('/').some((part) => part === '.' || part === '..'), 'must not contain . or ..')
      .nullish()
      .meta({ description: 'Prefix of all keys.', examples: ['chargeback'] }),
    path_style: z
      .boolean()
      .nullish()
      .meta({ description: 'Whether the bucket is in the path of URLs instead of the host name. Default: false.' }),
    access_key_id: z
      .string()
      .min(1)
      .max(128)
      .regex(PRINTABLE, 'must be printable ASCII')
      .meta({
        examples: ['AKIAIOSFODNN7EXAMPLE'],
      }),
    secret_access_key: z
      .string()
      .min(1)
      .max(256)
      .regex(PRINTABLE, 'must be printable ASCII')
      .meta({
        description: 'Sealed at rest, and never returned.',
        writeOnly: true,
        examples: ['wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'],
      }),
  })
  .meta({ id: 'NewExportDestination' })
export type StatedDestination = z.infer<typeof destination>

export const scheduleFields = exportBody
  .omit({ period: true })
  .extend({
    name: name(),
    cadence: z.enum(CADENCES).meta({
      description: 'One file per day, or per calendar month; both in UTC, as FOCUS has billing periods.',
    }),
    destination,
  })
  .meta({ id: 'NewExportSchedule' })
export type ScheduleFields = z.infer<typeof scheduleFields>

export const scheduleChanges = z
  .strictObject({
    name: name().optional(),
    status: z.enum(SCHEDULE_STATUSES).optional().meta({
      description: '`paused`: nothing is delivered; what is missed is delivered later, as far as it is still kept.',
    }),
    destination: destination.optional().meta({ description: 'Replaces the destination as a whole, its secret too.' }),
  })
  .meta({ id: 'ExportScheduleChanges' })
export type ScheduleChanges = z.infer<typeof scheduleChanges>

/** Default endpoint of a region. */
export const endpointOf = ({ endpoint, region }: Pick<StatedDestination, 'endpoint' | 'region'>): string =>
  endpoint ?? `https://s3.${region}.amazonaws.com`

/** Where the objects of a schedule are: another place has none of the objects before. */
export const placeOf = ({
  endpoint,
  bucket,
  prefix,
}: Pick<StoredDestination, 'endpoint' | 'bucket' | 'prefix'>): string => `${endpoint}/${bucket}/${prefix}`

const contextOf = (id: string): string => `export_schedules.${id}.secret`

/** @param endpoint canonical */
export const storedDestination = (
  keys: MasterKeys,
  id: string,
  endpoint: string,
  stated: StatedDestination,
): StoredDestination => ({
  endpoint,
  region: stated.region,
  bucket: stated.bucket,
  prefix: (stated.prefix ?? '').replace(/\/$/, ''),
  path_style: stated.path_style ?? false,
  access_key_id: stated.access_key_id,
  secret: seal(keys, contextOf(id), Buffer.from(stated.secret_access_key)),
})

export const secretOf = (keys: MasterKeys, { id, destination }: Pick<Schedule, 'id' | 'destination'>): string =>
  unseal(keys, contextOf(id), destination.secret).toString()

/** As the audit log keeps it: without the secret. */
export function audited({ name, status, cadence, request, destination, run }: Schedule): CanonicalValue {
  const { secret: _, ...shown } = destination
  const { group_by, filters = [], file_format, focus_version } = request
  return {
    name,
    status,
    cadence,
    group_by: [...group_by],
    filters: showFilters(filters),
    file_format,
    focus_version,
    destination: { ...shown },
    ...(run !== null && { run: { period: run.period, requested_at: run.requested_at } }),
  }
}
