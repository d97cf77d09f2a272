import type { IntakeRequest } from '../intake/intake-route.js'

/** A producer's confidence in what it only heard from others: below the floor for chargeback. */
export const CLAIMED = 0.7

/** Who called, as a gateway says that authenticated them: believed of a gateway's credential, else a claim. */
export function attributedBy(
  { service, identity }: { readonly service?: string | undefined; readonly identity?: string | undefined },
  { isGateway }: Pick<IntakeRequest['caller'], 'isGateway'>,
) {
  const isClaim = isGateway !== true && (service !== undefined || identity !== undefined)
  return {
    attributed_service: service,
    attributed_identity: identity,
    attribution_confidence: isClaim ? CLAIMED : undefined,
  }
}
