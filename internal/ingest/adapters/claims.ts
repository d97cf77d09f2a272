import type { IntakeRequest } from '../intake/intake-route.js'

/** A producer's confidence in what it only heard from others: below the floor for chargeback. */
export const CLAIMED = 0.7

interface WhoCalled {
  readonly service?: string | undefined
  readonly identity?: string | undefined
}
export interface Believed {
  readonly isGateway?: boolean | undefined
  readonly trustedFields?: IntakeRequest['caller']['trustedFields'] | undefined
}

/** Who called, as a gateway says that authenticated them: believed of a gateway's credential, else a claim. */
export const attributedBy = (who: WhoCalled, { isGateway }: Believed) => attributed(who, isGateway === true)

/** Who called, as the caller could have written it: a claim, unless the tenant trusts its gateway with the field. */
export const claimedBy = (who: WhoCalled, believed: Believed) => attributed(who, isTrusted(believed, who))

/** Whether the tenant trusts a gateway with these fields, which callers could write. */
export const isTrusted = ({ isGateway, trustedFields = [] }: Believed, who: WhoCalled = BOTH): boolean =>
  isGateway === true &&
  (who.service === undefined || trustedFields.includes('service')) &&
  (who.identity === undefined || trustedFields.includes('identity'))
const BOTH: WhoCalled = { service: '', identity: '' }

function attributed({ service, identity }: WhoCalled, isBelieved: boolean) {
  const isClaim = !isBelieved && (service !== undefined || identity !== undefined)
  return {
    attributed_service: service,
    attributed_identity: identity,
    attribution_confidence: isClaim ? CLAIMED : undefined,
  }
}
