import type { Billing } from '../../auth/billing.js'
import type { Agent, Payer } from './agents.js'
import { NO_PROVIDER } from './span-events.js'
import { FACT, type Facts } from './span-facts.js'

/** Who pays for a call, and what says so. */
export interface PaidBy {
  readonly payer: Payer
  readonly assumption: PayerAssumption
}

export type PayerAssumption =
  /** A cloud bills every call, and so does a provider whose key is the user's own. */
  | 'billing_from_provider'
  /** How the agent signed in. */
  | 'billing_from_auth_type'
  /** What the credential is set to. */
  | 'billing_from_credential'
  /** What its users usually have. */
  | 'billing_seat_assumed'
  | 'billing_api_assumed'

/** Those that serve models of others and have no subscription to them. */
const CLOUDS = new Set(['aws.bedrock', 'gcp.vertex_ai', 'azure.ai.inference', 'azure.ai.openai'])

/**
 * @param provider as reports name it
 * @param billing what the credential says of calls that do not say it themselves
 */
export function payerOf(agent: Agent, provider: string, facts: Facts, billing: Billing | undefined): PaidBy {
  const isOwnKey = agent.reseller !== undefined && provider !== agent.reseller && provider !== NO_PROVIDER
  if (isOwnKey || CLOUDS.has(provider)) return { payer: 'api', assumption: 'billing_from_provider' }
  const said = facts.get(FACT.authType)
  const payer = typeof said === 'string' ? agent.payers[said.toLowerCase()] : undefined
  if (payer !== undefined) return { payer, assumption: 'billing_from_auth_type' }
  if (billing === 'seat' || billing === 'api') return { payer: billing, assumption: 'billing_from_credential' }
  return { payer: agent.usualPayer, assumption: `billing_${agent.usualPayer}_assumed` }
}
