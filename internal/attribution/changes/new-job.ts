import { placeBefore } from '../../store/queries/records/slices.js'
import type { ReattributionJob } from './reattribution-job.js'
import { NO_TALLY } from './revalue.js'

/** The initial state of a job. */
export const newJob = (
  requested: Pick<
    ReattributionJob,
    | 'id'
    | 'tenant_id'
    | 'from_ms'
    | 'to_ms'
    | 'model'
    | 'valued'
    | 'override'
    | 'undoes'
    | 'started_by'
    | 'dry_run'
    | 'service'
    | 'mapping'
    | 'directory_revision'
    | 'actor'
  >,
  nowMs: number,
): ReattributionJob => ({
  ...requested,
  created_at: new Date(nowMs).toISOString(),
  status: 'running',
  next: 0,
  after: placeBefore(requested.from_ms),
  seen: 0,
  changed: 0,
  unnamed: 0,
  ...(requested.valued && { tally: NO_TALLY }),
})
