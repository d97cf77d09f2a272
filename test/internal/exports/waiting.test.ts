import { expect, test } from 'vitest'
import type { StoredJob } from '../../../internal/exports/job.js'
import { nextJobs } from '../../../internal/exports/waiting.js'

const job = (tenant_id: string, id: string, minute: number, status: StoredJob['status'] = 'queued'): StoredJob => ({
  id,
  tenant_id,
  created_at: new Date(Date.UTC(2026, 10, 3, 12, minute)).toISOString(),
  created_by: 'key_one',
  status,
  request: { period: { from: '', to: '' }, group_by: [], file_format: 'csv', focus_version: '1.4', columns: [] },
  attempts: 0,
  started_at: null,
  finished_at: null,
  percent: 0,
  work: null,
  result: null,
  failure: null,
  is_cleared: false,
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
