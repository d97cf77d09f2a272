/** API keys, as far as the console reads them. */
export interface Key {
  readonly id: string
  readonly name: string
  readonly scopes: readonly string[]
  readonly status: 'active' | 'expired' | 'revoked'
  readonly last_four: string
  readonly created_at: string
  readonly expires_at: string | null
  readonly last_used_at: string | null
  readonly ingestion_layers: readonly string[] | null
  readonly trusts_cost: boolean
  readonly is_gateway: boolean
}

export const KEYS_PATH = '/api/v1/api-keys'
