import type { Directory } from '../../../directory/directory.js'
import type { AdmittedInvocation } from '../../../invocations/invocation-group.js'
import { type Confidence, UNASSIGNED } from '../../../records/interpretation.js'
import { RULES_VERSION, type Verdict } from '../../records/row.js'

/** As that of an identity whose service the directory knows: the owner is as certain. */
const CONFIDENCE: Confidence = 8_500

/** The owner that the directory knows for the identity that a call states. */
export const ownerOfIdentity = (
  { tenantId, invocation: { attributedIdentity } }: Pick<AdmittedInvocation, 'tenantId' | 'invocation'>,
  directory: Pick<Directory, 'identity'>,
): string | undefined =>
  attributedIdentity === undefined ? undefined : directory.identity(tenantId, attributedIdentity)?.owner

/**
 * The verdict for a call of which facts tell the owner and nothing tells the service: it is that owner's, whatever pool
 * or credential it would else be counted to.
 *
 * @param traceServices the services of its trace, when there are several
 */
export function ownerVerdict(owner: string, traceServices: readonly string[] | undefined): Verdict {
  const conflict = traceServices && ({ by: 'trace', services: traceServices } as const)
  return {
    service: UNASSIGNED,
    owner,
    stageOrigin: 'stage_a',
    evidenceBasis: 'owner_resolved',
    confidence: CONFIDENCE,
    outputState: 'deterministically_resolved',
    modelVersion: RULES_VERSION,
    degradationState: 'none',
    ...(conflict && { contested: conflict.by }),
    evidence: { in_directory: false, owner_from: 'directory_identity', ...(conflict && { conflict }) },
  }
}
