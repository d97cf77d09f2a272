import { SCOPES, type Scope } from '../../../../auth/scopes.js'
import type { Key } from '../../api/keys.js'

/** OAuth clients and people, as far as the console reads them, and words for what credentials may do. */

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

/** What sets a credential that sends calls apart from the usual ones. */
export const limitsOf = ({ is_gateway: isGateway, trusts_cost: isTrusted }: Pick<Key, 'is_gateway' | 'trusts_cost'>) =>
  [isGateway ? 'a gateway: who called is believed' : '', isTrusted ? '' : 'costs that it states do not count'].filter(
    (words) => words !== '',
  )
