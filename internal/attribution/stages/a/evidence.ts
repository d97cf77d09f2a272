import type { TenantSettings } from '../../../auth/tenant.js'
import type { NamedService } from '../../../directory/dated-changes.js'
import type { Directory, IdentityEntry } from '../../../directory/directory.js'
import type { Mapped, MappingPolicy, TestedCall } from '../../../directory/mapping/mapping-policy.js'
import type { Condition } from '../../../directory/mapping/mapping-rule.js'
import { isVouched } from '../../../directory/mapping/vouched-fields.js'
import type { Invocation } from '../../../invocations/invocation.js'
import type { AdmittedInvocation } from '../../../invocations/invocation-group.js'
import { foldKey } from '../../../records/dimensions.js'
import { type Confidence, type ContestedBy, type EvidenceBasis, UNASSIGNED } from '../../../records/interpretation.js'
import { comparableName } from '../../../text/comparable-name.js'
import { type NameDoubt, nameDoubt } from '../../../text/misleading-name.js'
import type { AllocationDeps } from '../../pools/allocate.js'
import { RULES_VERSION, type Verdict } from '../../records/row.js'

/** The evidence of a trace for an event that states nothing itself. */
export type Correlation =
  | {
      readonly kind: 'one_service'
      readonly service: string
      /** Undefined if the trace's events have different owners, or pass none on. */
      readonly owner: string | undefined
      /** The highest confidence among the events that resolved the trace. */
      readonly confidence: Confidence
      /** The rank of the strongest evidence among them. */
      readonly strength: number
    }
  /** The trace's events belong to several services (sorted by name); no service is guessed for the others. */
  | { readonly kind: 'contested'; readonly services: readonly string[] }
  | { readonly kind: 'none' }

/** The service and owner that the facts prove for one call, and the evidence for them. */
export interface Resolution {
  readonly service: string
  readonly owner: string
  readonly evidenceBasis: keyof typeof CONFIDENCE
  readonly confidence: Confidence
  readonly contested?: ContestedBy
  /** What a mapping rule adds to the tags of the call. */
  readonly tags?: Readonly<Record<string, string>>
  /** The sources of service and owner, for the explanation. Never contains the identity itself. */
  readonly evidence: ResolutionEvidence
}

export interface ResolutionEvidence {
  readonly service_from:
    | 'event'
    | 'directory_alias'
    | 'directory_identity'
    | 'directory_principal'
    | 'mapping_rule'
    | 'trace'
  readonly stated_service?: string
  readonly in_directory: boolean
  readonly owner_from: 'directory_service' | 'directory_identity' | 'mapping_rule' | 'trace' | 'event_identity' | 'none'
  readonly conflict?: Conflict
  readonly mapping_rule?: AppliedRule
}

/** The mapping rule that decided, as it was then. */
export interface AppliedRule {
  readonly id: string
  readonly name: string
  readonly version: number
  /** `trusted`: a gateway's credential sent the call, and the rule tests only what no caller of it can write. */
  readonly source: 'trusted' | 'claimed'
  /** An identity is never shown. */
  readonly when: readonly (Omit<Condition, 'value'> & { readonly value?: string })[]
  readonly tags?: Readonly<Record<string, string>>
}

/** A fact that contradicts the attributed service, or facts that contradict each other. */
export interface Conflict {
  readonly by: ContestedBy
  /** The service that the other fact names, if it names one. */
  readonly service?: string
  /** The services of the trace, sorted by name. */
  readonly services?: readonly string[]
  /** Why a name misleads. */
  readonly name?: 'pool_name' | NameDoubt
}

/** Confidence by kind of evidence; for a mapping rule, from a trusted source. */
const CONFIDENCE = {
  identity_and_service_resolved: 9_500,
  service_resolved: 9_000,
  mapping_rule: 9_000,
  identity_resolved: 8_500,
  trace_correlated: 8_200,
  exclusive_principal_resolved: 8_000,
  principal_resolved: 8_000,
  service_declared: 7_000,
} as const satisfies Partial<Record<EvidenceBasis, Confidence>>

/** Of a mapping rule from a source that only claims who called. */
const CLAIMED_RULE: Confidence = 7_000

/**
 * Rank of an event's own evidence in its trace: evidence of a lower rank neither resolves nor contests where there is
 * some of a higher one. A default service of a credential is no statement at all.
 */
export const STRENGTH = {
  identity_and_service_resolved: 5,
  service_resolved: 5,
  exclusive_principal_resolved: 5,
  identity_resolved: 4,
  // It never contests what the directory knows.
  mapping_rule: 3,
  service_declared: 2,
  principal_resolved: 1,
  trace_correlated: 0,
} as const satisfies Record<keyof typeof CONFIDENCE, number>

export interface EvidenceDeps extends Pick<AllocationDeps, 'policyOf'> {
  readonly directory: Directory
  readonly mappingOf: (tenantId: string) => MappingPolicy
  readonly settingsOf: (tenantId: string) => TenantSettings
}

type OwnFacts = Pick<Invocation, 'attributedService' | 'attributedIdentity' | 'workloadIdentity'>
/** The directory is asked as of the time of the call. */
type Facts = Partial<OwnFacts> & Partial<Pick<Invocation, 'attributionConfidence'>> & TestedCall
/** Who sent the event. */
type AdmittedBy = Pick<AdmittedInvocation, 'principal' | 'isFromGateway' | 'intake'>

/**
 * Resolves an event from its own facts. The strongest fact decides, in the order of the table above; a credential that
 * belongs to one service alone decides before anything that the event claims. A mapping rule decides where the
 * directory knows no service of the call, before a stated service that it does not know. Nothing is inferred: an
 * identity that the directory does not know resolves nothing, and one of which it knows only the owner no service
 * (`known-owner.ts`).
 *
 * @returns undefined when no fact names the service
 */
export function strongestEvidence(
  invocation: Facts,
  tenantId: string,
  admittedBy: AdmittedBy,
  deps: EvidenceDeps,
): Resolution | undefined {
  const { directory } = deps
  const { attributedService: stated, attributedIdentity, eventTimeMs: atMs } = invocation
  const identity = attributedIdentity === undefined ? undefined : directory.identity(tenantId, attributedIdentity)
  const settings = deps.settingsOf(tenantId)

  const resolve = (
    name: string,
    serviceFrom: ResolutionEvidence['service_from'],
    evidenceBasis: Resolution['evidenceBasis'],
    known = directory.service(tenantId, name, atMs),
    conflict?: Conflict,
  ): Resolution => {
    const owners = { team: identity?.owner, identity: fallbackOf(identity?.name ?? attributedIdentity, settings) }
    const isDefault = evidenceBasis === 'principal_resolved'
    const [owner, ownerFrom] = ownerOf(known?.owner, owners, isDefault)
    return {
      service: known?.name ?? name,
      owner,
      evidenceBasis,
      confidence: CONFIDENCE[evidenceBasis],
      ...(conflict && { contested: conflict.by }),
      evidence: {
        service_from:
          serviceFrom === 'event' && known !== undefined && known.name !== name ? 'directory_alias' : serviceFrom,
        ...(stated === undefined ? {} : { stated_service: stated }),
        in_directory: known !== undefined,
        owner_from: ownerFrom,
        ...(conflict && { conflict }),
      },
    }
  }

  const known = stated === undefined ? undefined : directory.service(tenantId, stated, atMs)
  const byPrincipal = directory.principal(tenantId, admittedBy.principal)
  if (byPrincipal?.exclusive === true) {
    const claimed = stated ?? serviceOfWorkload(invocation, identity, tenantId, directory)
    const isOther = claimed !== undefined && !isSameService(byPrincipal.service, claimed, tenantId, atMs, directory)
    if (isOther || known === undefined) {
      const conflict = isOther ? ({ by: 'exclusive_principal', service: known?.name ?? claimed } as const) : undefined
      return resolve(byPrincipal.service, 'directory_principal', 'exclusive_principal_resolved', undefined, conflict)
    }
  }
  const isKnown = known !== undefined || (stated === undefined && identity?.service !== undefined)
  const mapped = isKnown ? undefined : deps.mappingOf(tenantId).find(invocation, identity)
  if (mapped !== undefined) {
    const isTrusted = isOfTrustedFields(mapped, invocation, admittedBy, settings)
    return byRule(resolve(mapped.version.set.service, 'mapping_rule', 'mapping_rule'), mapped, isTrusted, invocation)
  }
  if (stated !== undefined) {
    const doubt = doubtOf(stated, known, invocation, identity, tenantId, deps)
    if (doubt !== undefined) return resolve(stated, 'event', 'service_declared', known, doubt)
    const basis = attributedIdentity === undefined ? 'service_resolved' : 'identity_and_service_resolved'
    return resolve(stated, 'event', basis, known)
  }
  if (identity?.service !== undefined) return resolve(identity.service, 'directory_identity', 'identity_resolved')
  if (byPrincipal !== undefined) return resolve(byPrincipal.service, 'directory_principal', 'principal_resolved')
  return undefined
}

/** Whether a rule tests only what a gateway vouches for; the intake gives an identity that it claims little weight. */
const isOfTrustedFields = (
  { version: { when } }: Mapped,
  { attributionConfidence = 1 }: Facts,
  { isFromGateway = false, intake }: AdmittedBy,
  { trusted_fields: trusted }: TenantSettings,
): boolean =>
  isFromGateway &&
  when.every(
    (condition) =>
      isVouched(condition, intake, trusted) &&
      (condition.field !== 'identity' || attributionConfidence * 10_000 > CLAIMED_RULE),
  )

/** What a rule sets, beside the service. */
function byRule(
  resolved: Resolution,
  { rule: { id, name }, version: { version, when, set } }: Mapped,
  isTrusted: boolean,
  { tags: stated = {} }: Facts,
): Resolution {
  const source = isTrusted ? 'trusted' : 'claimed'
  const keys = new Set(Object.keys(stated).map(foldKey))
  const tags = Object.entries(set.tags ?? {}).filter(([key]) => !keys.has(foldKey(key)))
  return {
    ...resolved,
    ...(set.owner !== undefined && { owner: set.owner }),
    ...(source === 'claimed' && { confidence: CLAIMED_RULE }),
    ...(tags.length > 0 && { tags: Object.fromEntries(tags) }),
    evidence: {
      ...resolved.evidence,
      ...(set.owner !== undefined && { owner_from: 'mapping_rule' }),
      mapping_rule: {
        id,
        name,
        version,
        source,
        when: when.map(({ value, ...tested }) => ({ ...tested, ...(tested.field !== 'identity' && { value }) })),
        ...(tags.length > 0 && { tags: Object.fromEntries(tags) }),
      },
    },
  }
}

/** What contradicts a stated service: it is then only declared. */
function doubtOf(
  stated: string,
  known: NamedService | undefined,
  invocation: Facts,
  identity: IdentityEntry | undefined,
  tenantId: string,
  { directory, settingsOf, policyOf }: EvidenceDeps,
): Conflict | undefined {
  // A person may use a service of another team; a workload is part of its own.
  const { eventTimeMs: atMs } = invocation
  const ofWorkload = serviceOfWorkload(invocation, identity, tenantId, directory)
  if (ofWorkload !== undefined && !isSameService(ofWorkload, stated, tenantId, atMs, directory)) {
    return { by: 'workload_identity', service: directory.service(tenantId, ofWorkload, atMs)?.name ?? ofWorkload }
  }
  if (known !== undefined) return undefined
  const name = policyOf(tenantId).isPool(stated) ? 'pool_name' : nameDoubt(stated)
  if (name !== undefined) return { by: 'misleading_name', name }
  const undeclared = settingsOf(tenantId).undeclared_services
  const isDoubtful = undeclared === 'declared' || (undeclared === 'auto' && directory.hasServices(tenantId))
  return isDoubtful ? { by: 'undeclared_service' } : undefined
}

/** The service that the directory names for the workload that made the call. */
function serviceOfWorkload(
  { workloadIdentity }: Partial<OwnFacts>,
  identity: IdentityEntry | undefined,
  tenantId: string,
  directory: Directory,
): string | undefined {
  if (identity?.is_workload === true && identity.service !== undefined) return identity.service
  if (workloadIdentity === undefined) return undefined
  const workload = directory.identity(tenantId, workloadIdentity)
  return workload?.is_workload === true ? workload.service : undefined
}

function isSameService(one: string, other: string, tenantId: string, atMs: number, directory: Directory): boolean {
  const nameOf = (name: string): string => comparableName(directory.service(tenantId, name, atMs)?.name ?? name)
  return one === other || nameOf(one) === nameOf(other)
}

/**
 * The owner that an event passes to other events of its trace. An owner that is only the event's own identity is not
 * passed on. Exports and reports count a call without an identity as no person, and therefore show groups of such calls
 * even below the minimum of five people (k = 5); a person's name must not appear there as the owner.
 */
export const inheritedOwner = (owner: string, ownerFrom: string | undefined): string | undefined =>
  ownerFrom === ('event_identity' satisfies ResolutionEvidence['owner_from']) ? undefined : owner

/**
 * The name under which a trace knows a service: the same before and after it is renamed, so that the trace does not
 * have two.
 */
export const undatedName = (service: string, tenantId: string, directory: Directory): string =>
  directory.serviceEntry(tenantId, service)?.name ?? service

/** Whether the event itself proves or states its service; other events of its trace then add nothing. */
export const isStated = ({ evidenceBasis }: Resolution): boolean =>
  STRENGTH[evidenceBasis] > STRENGTH.principal_resolved

/** The alternative owners of a call, for a service without an owner in the directory. */
export interface OwnerFacts {
  /** The identity's team. */
  readonly team: string | undefined
  /** The identity, as the directory or else the event names it, if the tenant's `owner_fallback` is `identity`. */
  readonly identity: string | undefined
}

export const ownerFacts = (
  { attributedIdentity }: Invocation,
  tenantId: string,
  directory: Directory,
  settings: TenantSettings,
): OwnerFacts => {
  const known = attributedIdentity === undefined ? undefined : directory.identity(tenantId, attributedIdentity)
  return { team: known?.owner, identity: fallbackOf(known?.name ?? attributedIdentity, settings) }
}

const fallbackOf = (identity: string | undefined, settings: TenantSettings): string | undefined =>
  settings.owner_fallback === 'identity' ? identity : undefined

/**
 * Combines an event's own evidence with that of its trace. The trace contributes the service of its other events, with
 * a confidence that never exceeds theirs. If both have equal confidence, the trace decides.
 *
 * @param own the resolution from the event's own facts, if any
 */
export function evidenceWithTrace(
  own: Resolution | undefined,
  correlation: Correlation,
  { tenantId, eventTimeMs }: { readonly tenantId: string; readonly eventTimeMs: number },
  owners: OwnerFacts,
  directory: Directory,
): Resolution | undefined {
  if (correlation.kind !== 'one_service' || (own !== undefined && isStated(own))) return own
  // The trace knows only a credential's default service; the event has its own credential, which decides.
  if (own !== undefined && correlation.strength <= STRENGTH.principal_resolved) return own
  const confidence = Math.min(CONFIDENCE.trace_correlated, correlation.confidence)
  if (own !== undefined && own.confidence > confidence) return own

  const known = directory.service(tenantId, correlation.service, eventTimeMs)
  const isDefault = correlation.strength <= STRENGTH.principal_resolved
  const [owner, ownerFrom] = ownerOf(known?.owner, owners, isDefault, correlation.owner)
  return {
    service: known?.name ?? correlation.service,
    owner,
    evidenceBasis: 'trace_correlated',
    confidence,
    evidence: { service_from: 'trace', in_directory: known !== undefined, owner_from: ownerFrom },
  }
}

/**
 * Turns a resolution into the verdict of a record. The spread stands last, here and wherever there is one per call: V8
 * takes microseconds to add a member behind a spread, and a hundredth of that for the spread itself (measured).
 */
export const verdictOf = (resolution: Resolution): Verdict => ({
  stageOrigin: 'stage_a',
  outputState: 'deterministically_resolved',
  modelVersion: RULES_VERSION,
  degradationState: 'none',
  ...resolution,
})

/**
 * The service's owner, else the identity's team, else the one that the tenant's `owner_fallback` determines, else that
 * of the trace.
 *
 * @param isDefault whether the service is only the default of a credential. That says nothing of who called, and an
 *   identity does: its team then comes before the service's owner
 */
function ownerOf(
  ofService: string | undefined,
  { team, identity }: OwnerFacts,
  isDefault: boolean,
  ofTrace?: string,
): readonly [owner: string, from: ResolutionEvidence['owner_from']] {
  if (isDefault && team !== undefined) return [team, 'directory_identity']
  if (ofService !== undefined) return [ofService, 'directory_service']
  if (team !== undefined) return [team, 'directory_identity']
  if (identity !== undefined) return [identity, 'event_identity']
  return ofTrace === undefined ? [UNASSIGNED, 'none'] : [ofTrace, 'trace']
}
