import type { ExportJob, ExportJobWithFiles, ExportManifest } from 'attribution-service/sdk/api'

/** Export jobs and manifests. */
export type Job = ExportJob

export type JobWithFiles = ExportJobWithFiles

export type Manifest = ExportManifest

export const JOBS_PATH = '/api/v1/jobs'

export const isUnderWay = ({ status }: Job): boolean => status === 'queued' || status === 'running'
