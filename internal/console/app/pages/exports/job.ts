import type { StatedFilter } from '../../../figures/usage.js'

/** Export jobs and manifests, as far as the console reads them. */
export interface Job {
  readonly job_id: string
  readonly status: 'queued' | 'running' | 'succeeded' | 'failed' | 'expired'
  readonly created_at: string
  readonly period: { readonly from: string; readonly to: string }
  readonly group_by: readonly string[]
  readonly filters: readonly StatedFilter[]
  readonly suppressed?: { readonly asked: readonly StatedFilter[]; readonly applied: readonly StatedFilter[] }
  readonly file_format: string
  readonly focus_version: string
  readonly progress: { readonly percent: number }
  readonly failure: { readonly reason: string; readonly detail: string } | null
  readonly rows: number | null
  readonly files_expire_at: string | null
}

export interface JobWithFiles extends Job {
  /** Signed, for some minutes. */
  readonly result_url?: string
  readonly manifest_url?: string
}

interface Amount {
  readonly count: number
  readonly cost_usd: string
}

export interface Manifest {
  readonly as_of: string
  readonly period: { readonly is_complete: boolean }
  readonly file: { readonly name: string; readonly bytes: number; readonly sha256: string; readonly rows: number }
  readonly totals: {
    readonly billed_cost: string
    readonly energy_wh: string
    readonly carbon_gco2e: string
    readonly invocations: number
  }
  readonly exported: Amount
  readonly left_out: readonly (Amount & { readonly reason: string })[]
  readonly everything: Amount
  readonly cohorts: { readonly k: number; readonly groups_folded: number; readonly rows_of_folded_groups: number }
}

export const JOBS_PATH = '/api/v1/jobs'

export const isUnderWay = ({ status }: Job): boolean => status === 'queued' || status === 'running'
