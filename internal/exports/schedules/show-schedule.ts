import { showFilters } from '../export-filters.js'
import type { StoredProgress } from './progress.js'
import type { Schedule } from './schedule.js'
import type { ShownSchedule } from './schedule-contract.js'

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
