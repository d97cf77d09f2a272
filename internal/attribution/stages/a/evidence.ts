import type { TenantSettings } from '../../../auth/tenant.js'
import type { Invocation } from '../../../invocations/invocation.js'
import type { Confidence, EvidenceBasis } from '../../../records/interpretation.js'
import type { Directory } from '../../directory/directory.js'
import { RULES_VERSION, type Verdict } from '../../records/row.js'
import type { Correlation } from './traces.js'

/** The service and owner that the facts prove for one call, and the evidence for them. */
export interface Resolution {
  readonly service: string
  readonly owner: string
  readonly evidenceBasis: EvidenceBasis
  readonly confidence: Confidence
  /** The sources of service and owner, for the explanation. Never contains the identity itself. */
  readonly evidence: ResolutionEvidence
}

export interface ResolutionEvidence {
  readonly service_from: 'event' | 'directory_alias' | 'directory_identity' | 'directory_principal' | 'trace'
  readonly stated_service?: string
  readonly in_directory: boolean
  readonly owner_from: 'directory_service' | 'directory_identity' | 'trace' | 'event_identity' | 'none'
}

/** Confidence by kind of evidence (design section 5). */
const CONFIDENCE = {
  identity_and_service_resolved: 9_500,
  service_resolved: 9_000,
  identity_resolved: 8_500,
  trace_correlated: 8_200,
  principal_resolved: 8_000,
  service_declared: 7_000,
} as const satisfies Partial<Record<EvidenceBasis, Confidence>>

export const UNASSIGNED = 'unassigned'

/**
 * Resolves an event from its own facts. The strongest fact decides, in the order of the table above. Nothing is inferred: an
 * identity that the directory does not know resolves nothing.
 *
 * @returns undefined when no fact names the service
 */
export function strongestEvidence(
  invocation: Pick<Invocation, 'attributedService' | 'attributedIdentity'>,
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
  const byPrincipal = directory.principal(tenantId, principal)
  if (byPrincipal !== undefined) return resolve(byPrincipal.service, 'directory_principal', () => 'principal_resolved')
  return undefined
}

/**
 * The owner that an event passes to other events of its trace. An owner that is only the event's own identity is not passed
 * on. Exports and reports count a call without an identity as no person, and therefore show groups of such calls even below
 * the minimum of five people (k = 5); a person's name must not appear there as the owner.
 */
export const inheritedOwner = (owner: string, ownerFrom: string | undefined): string | undefined =>
  ownerFrom === ('event_identity' satisfies ResolutionEvidence['owner_from']) ? undefined : owner

/** Whether the event itself states its service or identity; other events of its trace then add nothing. */
export const isStated = ({ evidenceBasis }: Resolution): boolean => evidenceBasis !== 'principal_resolved'

/** The alternative owners of a call, for a service without an owner in the directory. */
export interface OwnerFacts {
  /** The identity's team. */
  readonly team: string | undefined
  /** The identity as given, if the tenant's `owner_fallback` is `identity`. */
  readonly identity: string | undefined
}

export const ownerFacts = (
  { attributedIdentity }: Invocation,
  tenantId: string,
  directory: Directory,
  settings: TenantSettings,
): OwnerFacts => ({
  team: attributedIdentity === undefined ? undefined : directory.identity(tenantId, attributedIdentity)?.owner,
  identity: settings.owner_fallback === 'identity' ? attributedIdentity : undefined,
})

/**
 * Combines an event's own evidence with that of its trace. The trace contributes the service of its other events, with a
 * confidence that never exceeds theirs. If both have equal confidence, the trace decides.
 *
 * @param own the resolution from the event's own facts, if any
 */
export function evidenceWithTrace(
  own: Resolution | undefined,
  correlation: Correlation,
  tenantId: string,
  owners: OwnerFacts,
  directory: Directory,
): Resolution | undefined {
  if (correlation.kind !== 'one_service' || (own !== undefined && isStated(own))) return own
  // The trace knows only a credential's default service; the event has its own credential, which decides.
  if (own !== undefined && !correlation.isStated) return own
  const confidence = Math.min(CONFIDENCE.trace_correlated, correlation.confidence)
  if (own !== undefined && own.confidence > confidence) return own

  const known = directory.service(tenantId, correlation.service)
  const candidates = [
    [known?.owner, 'directory_service'],
    [owners.team, 'directory_identity'],
    [owners.identity, 'event_identity'],
    [correlation.owner, 'trace'],
    [UNASSIGNED, 'none'],
  ] as const
  const [owner = UNASSIGNED, ownerFrom] = candidates.find(([candidate]) => candidate !== undefined) ?? [
    UNASSIGNED,
    'none',
  ]
  return {
    service: known?.name ?? correlation.service,
    owner,
    evidenceBasis: 'trace_correlated',
    confidence,
    evidence: { service_from: 'trace', in_directory: known !== undefined, owner_from: ownerFrom },
  }
}

/** Turns a resolution into the verdict of a record. */
export const verdictOf = (resolution: Resolution): Verdict => ({
  ...resolution,
  stageOrigin: 'stage_a',
  outputState: 'deterministically_resolved',
  modelVersion: RULES_VERSION,
  degradationState: 'none',
})

/** The service's owner, else the identity's team, else the one that the tenant's `owner_fallback` determines. */
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
