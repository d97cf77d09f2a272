import { SCOPES, type Scope } from '../../../../auth/scopes.js'

/** API keys, OAuth clients and people, as far as the console reads them. */

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

export interface Client {
  readonly id: string
  readonly name: string
  readonly type: 'confidential' | 'public'
  readonly scopes: readonly string[]
  readonly grant_types: readonly string[]
  readonly redirect_uris: readonly string[]
  readonly status: 'active' | 'disabled'
  readonly last_four: string | null
  readonly created_at: string
  readonly trusts_cost: boolean
  readonly is_gateway: boolean
}

export interface Person {
  readonly id: string
  readonly username: string
  readonly scopes: readonly string[]
  readonly status: 'active' | 'disabled'
  readonly owner: boolean
  readonly signs_in_by: 'password' | 'identity_provider'
  readonly second_factor: boolean
  readonly created_at: string
}

export const KEYS_PATH = '/api/v1/api-keys'
export const CLIENTS_PATH = '/api/v1/clients'
export const PEOPLE_PATH = '/api/v1/users'

export const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  'read:attribution': 'single calls and their evidence',
  'read:reporting': 'totals and reports',
  'export:create': 'files for chargeback',
  'webhooks:manage': 'who receives events',
  'admin:config': 'everything that is set up here',
}

export { SCOPES }

/** What is not as usual about a credential that sends calls. */
export const limitsOf = ({ is_gateway: isGateway, trusts_cost: isTrusted }: Pick<Key, 'is_gateway' | 'trusts_cost'>) =>
  [isGateway ? 'a gateway: who called is believed' : '', isTrusted ? '' : 'costs that it states do not count'].filter(
    (words) => words !== '',
  )

/** What a key may send. */
export function layersShown(layers: readonly string[] | null): string {
  if (layers === null) return 'all calls'
  return layers.length === 0 ? 'no calls' : `calls of ${layers.join(', ')}`
}
