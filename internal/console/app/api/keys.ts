import type { ApiKey } from 'attribution-service/sdk/api'

/** API keys. */
export type Key = ApiKey

export const KEYS_PATH = '/api/v1/api-keys'
