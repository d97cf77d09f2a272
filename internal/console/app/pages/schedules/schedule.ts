import type { ExportSchedule } from 'attribution-service/sdk/api'

export type Schedule = ExportSchedule

export const SCHEDULES_PATH = '/api/v1/export-schedules'

type Reason = NonNullable<Schedule['pending'][number]['reason']>

/** Why a file is not in the bucket, and what helps. */
export const REASONS: Readonly<Record<Reason, string>> = {
  export_failed: 'the file could not be written; it is tried again',
  residency_blocked: 'the bucket is in another region than the data may be in',
  address_not_allowed: 'the address of the bucket is not public',
  host_unresolved: 'the name of the bucket’s host is not known',
  access_denied: 'the bucket refuses the key: check its policy for s3:PutObject',
  no_such_bucket: 'there is no such bucket',
  redirected: 'the bucket is elsewhere: check its region and endpoint',
  tls: 'the certificate of the bucket’s host is not valid',
  timeout: 'the bucket did not answer in time',
  connection: 'the bucket’s host cannot be reached',
  bucket_error: 'the bucket answered with an error',
  files_unavailable: 'the file was deleted before it was delivered; it is written again',
}

export const CADENCES = { monthly: 'each month', daily: 'each day' } as const

/** "acme-finops/chargeback at s3.eu-central-1.amazonaws.com" */
export const placeShown = ({ bucket, prefix, endpoint }: Schedule['destination']): string =>
  `${bucket}${prefix === '' ? '' : `/${prefix}`} at ${endpoint.replace(/^https:\/\//, '')}`
