import type { TokenParties } from '../../auth/access-tokens.js'
import type { Mode } from '../../auth/api-keys.js'
import type { AuditSink } from '../../auth/audit-entry.js'
import type { Budgets } from '../../auth/rate-limits.js'
import type { StoredProvider } from '../identity-provider/provider.js'
import type { StoredClient } from './clients.js'
import type { GrantDeps } from './grants.js'
import type { SecondFactors } from './second-factor.js'
import type { TokenKeys } from './token-keys.js'
import type { StoredUser } from './users.js'

/** Dependencies of the authorization server. */
export interface OAuthDeps extends GrantDeps {
  readonly mode: Mode
  readonly parties: TokenParties
  readonly keys: TokenKeys
  readonly findClient: (clientId: string) => StoredClient | undefined
  readonly findUserNamed: (tenantId: string, username: string) => StoredUser | undefined
  readonly secondFactors: SecondFactors
  /** As people know the tenant. */
  readonly tenantNameOf: (tenantId: string) => string
  /** The identity provider of a tenant; undefined where people sign in by password alone. */
  readonly providerOf: (tenantId: string) => StoredProvider | undefined
  /** Whether the directory says that a person has left. @param username in any spelling */
  readonly hasLeft: (tenantId: string, username: string) => boolean
  /** Makes every gateway refuse a token, or all tokens of a session. Resolves when this gateway refuses it. */
  readonly deny: (id: string) => Promise<void>
  readonly budgetsOf: (tenantId: string, principal: string) => Budgets
  readonly tokenLifeS: number
  readonly auditSink: AuditSink
  /** And whether the copies of clients, people and revocations are current. */
  readonly isBrokerUp: () => boolean
  readonly clock: () => number
}
