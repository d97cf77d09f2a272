/** Records of `GET /api/v1/audit-log`, as far as the console reads them. */
export interface Entry {
  readonly sequence: number
  readonly created_at: string
  /** Null: without authentication. */
  readonly actor: string | null
  readonly action: string
  readonly target: string | null
  readonly outcome: 'succeeded' | 'refused' | 'failed'
  readonly error_code: string | null
  readonly trace_id: string
  readonly source_address: string | null
  readonly changes: { readonly before?: unknown; readonly after?: unknown } | null
  readonly repeats: number
  readonly hash: string
}

export const AUDIT_PATH = '/api/v1/audit-log'
