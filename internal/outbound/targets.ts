import { createGuard, type Guard } from './address-guard.js'
import { addressRule } from './public-addresses.js'
import type { TargetRules } from './target-url.js'

/** The targets that the operator allows. */
export interface TargetSettings {
  readonly webhookPorts: readonly number[]
  readonly webhookAllowedNetworks: readonly string[]
  readonly webhookResolvers: readonly string[]
}

/** @param baseUrl URL of this service, which must not be a target */
export const targetRulesOf = (
  { webhookPorts, webhookAllowedNetworks }: TargetSettings,
  baseUrl: string,
): TargetRules => ({
  ports: webhookPorts,
  allowsPrivateNames: allowsPrivateNames(webhookAllowedNetworks),
  ownHosts: baseUrl === '' ? [] : [new URL(baseUrl).hostname],
})

export const guardOf = ({ webhookAllowedNetworks, webhookResolvers }: TargetSettings): Guard =>
  createGuard({
    isAllowed: addressRule(webhookAllowedNetworks),
    resolvers: webhookResolvers,
    allowsPrivateNames: allowsPrivateNames(webhookAllowedNetworks),
  })

const allowsPrivateNames = (allowedNetworks: readonly string[]): boolean => allowedNetworks.length > 0
