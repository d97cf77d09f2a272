import type { OAuthClient, User } from 'attribution-service/sdk/api'
import { SCOPES } from '../../../../auth/scopes.js'
import type { Key } from '../../api/keys.js'

/** OAuth clients and people. */

export type Client = OAuthClient

export type Person = User

export const CLIENTS_PATH = '/api/v1/clients'
export const PEOPLE_PATH = '/api/v1/users'

export { SCOPES }

/** What sets a credential that sends calls apart from the usual ones. */
export const limitsOf = ({
  is_gateway: isGateway,
  trusts_cost: isTrusted,
  billing,
}: Pick<Key, 'is_gateway' | 'trusts_cost' | 'billing'>) =>
  [
    isGateway ? 'a gateway: who called is believed' : '',
    isTrusted ? '' : 'costs that it states do not count',
    billing === 'auto' ? '' : `calls are paid by ${PAYER_WORDS[billing]}`,
  ].filter((words) => words !== '')

export const PAYER_WORDS: Readonly<Record<Key['billing'], string>> = {
  auto: 'whom the calls name',
  seat: 'a subscription: they cost 0',
  api: 'an account that is billed for each',
}
