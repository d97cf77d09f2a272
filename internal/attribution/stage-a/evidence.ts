import type { Invocation } from '../../invocations/invocation.js'
import type { TenantSettings } from '../../tenants/tenant.js'
import type { Directory } from '../directory/directory.js'
import type { Confidence, EvidenceBasis } from '../interpretation.js'

/** What the facts prove of one call, and which facts those are. */
export interface Resolution {
  readonly service: string
  readonly owner: string
  readonly evidenceBasis: EvidenceBasis
  readonly confidence: Confidence
  /** Where service and owner come from, for the explanation. Never the identity itself. */
  readonly evidence: ResolutionEvidence
}

export interface ResolutionEvidence {
  readonly service_from: 'event' | 'directory_alias' | 'directory_identity' | 'directory_principal'
  readonly stated_service?: string
  readonly in_directory: boolean
  readonly owner_from: 'directory_service' | 'directory_identity' | 'event_identity' | 'none'
}

/** Confidence by kind of evidence (design section 5). */
const CONFIDENCE = {
  identity_and_service_resolved: 9_500,
  service_resolved: 9_000,
  identity_resolved: 8_500,
  principal_resolved: 8_000,
  service_declared: 7_000,
} as const satisfies Partial<Record<EvidenceBasis, Confidence>>

export const UNASSIGNED = 'unassigned'

/**
 * Stage A's rule: the strongest fact decides, in the order of the table above. Nothing is inferred: an identity
 * that the directory does not know resolves nothing.
 *
 * @returns undefined when no fact names the service
 */
export function strongestEvidence(
  invocation: Invocation,
  tenantId: string,
  principal: string,
  directory: Directory,
  settings: TenantSettings,
): Resolution | undefined {
  const { attributedService: stated, attributedIdentity } = invocation
  const identity = attributedIdentity === undefined ? undefined : directory.identity(tenantId, attributedIdentity)

  const resolve = (
    name: string,
    serviceFrom: ResolutionEvidence['service_from'],
    basis: (isKnown: boolean) => keyof typeof CONFIDENCE,
  ): Resolution => {
    const known = directory.service(tenantId, name)
    const evidenceBasis = basis(known !== undefined)
    const [owner, ownerFrom] = ownerOf(known?.owner, identity?.owner, attributedIdentity, settings)
    return {
      service: known?.name ?? name,
      owner,
      evidenceBasis,
      confidence: CONFIDENCE[evidenceBasis],
      evidence: {
        service_from:
          serviceFrom === 'event' && known !== undefined && known.name !== name ? 'directory_alias' : serviceFrom,
        ...(stated === undefined ? {} : { stated_service: stated }),
        in_directory: known !== undefined,
        owner_from: ownerFrom,
      },
    }
  }

  if (stated !== undefined) {
    return resolve(stated, 'event', (isKnown) => {
      if (settings.require_directory && !isKnown) return 'service_declared'
      return attributedIdentity === undefined ? 'service_resolved' : 'identity_and_service_resolved'
    })
  }
  if (identity?.service !== undefined) return resolve(identity.service, 'directory_identity', () => 'identity_resolved')
  const ofPrincipal = directory.principal(tenantId, principal)
  if (ofPrincipal !== undefined) return resolve(ofPrincipal.service, 'directory_principal', () => 'principal_resolved')
  return undefined
}

/** The service's owner, else the identity's team, else what the tenant's `owner_fallback` says. */
function ownerOf(
  serviceOwner: string | undefined,
  identityOwner: string | undefined,
  attributedIdentity: string | undefined,
  settings: TenantSettings,
): [owner: string, from: ResolutionEvidence['owner_from']] {
  if (serviceOwner !== undefined) return [serviceOwner, 'directory_service']
  if (identityOwner !== undefined) return [identityOwner, 'directory_identity']
  if (attributedIdentity !== undefined && settings.owner_fallback === 'identity')
    return [attributedIdentity, 'event_identity']
  return [UNASSIGNED, 'none']
}
