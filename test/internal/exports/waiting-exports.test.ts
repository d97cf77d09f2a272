import { expect, test } from 'vitest'
import { newJob, type StoredJob } from '../../../internal/exports/export-job.js'
import { nextJobs } from '../../../internal/exports/waiting-exports.js'

const REQUEST = {
  period: { from: '', to: '' },
  group_by: [],
  file_format: 'csv',
  focus_version: '1.4',
  filters: [],
  columns: [],
} as const

const job = (tenant_id: string, id: string, minute: number, status: StoredJob['status'] = 'queued'): StoredJob => ({
  ...newJob(id, tenant_id, 'key_one', REQUEST, Date.UTC(2026, 10, 3, 12, minute)),
  status,
})

test("a tenant's next jobs are its oldest queued ones, as many as it has slots", () => {
  const jobs = [
    job('a', 'job_4', 4),
    job('a', 'job_3', 3),
    job('b', 'job_9', 9),
    job('a', 'job_2', 2),
    job('a', 'job_1', 1, 'running'),
    job('b', 'job_0', 0, 'succeeded'),
  ]

  expect([...nextJobs(jobs, 2)].map(({ id }) => id)).toEqual(['job_2', 'job_3', 'job_9'])
})
