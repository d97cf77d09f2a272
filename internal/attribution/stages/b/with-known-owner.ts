import type { Directory } from '../../../directory/directory.js'
import type { AdmittedInvocation } from '../../../invocations/invocation-group.js'
import { CHARGEBACK_FLOOR } from '../../../records/interpretation.js'
import type { Verdict } from '../../records/row.js'
import { ownerOfIdentity, ownerVerdict } from '../a/known-owner.js'

/** What the evidence of an inferred verdict adds where a fact tells the owner. */
export interface InferredOwner {
  readonly owner_from?: 'directory_identity'
  /** The owner that the model inferred with the service. */
  readonly inferred_owner?: string
}

/**
 * The owner of the identity that a call states is a fact, which no inference replaces. A model may name the service
 * beside it where it is certain enough for chargeback; less would only make a certain owner doubtful.
 *
 * @param inferred the verdict of the model or baseline, if there is one
 */
export function withKnownOwner(
  inferred: Verdict | undefined,
  admitted: AdmittedInvocation,
  directory: Pick<Directory, 'identity'>,
): Verdict | undefined {
  const owner = ownerOfIdentity(admitted, directory)
  if (owner === undefined) return inferred
  if (inferred?.evidenceBasis !== 'trained_inference' || inferred.confidence < CHARGEBACK_FLOOR) {
    return ownerVerdict(owner, admitted.traceServices)
  }
  if (inferred.owner === owner) return inferred
  const added: InferredOwner = { owner_from: 'directory_identity', inferred_owner: inferred.owner }
  return { ...inferred, owner, evidence: { ...inferred.evidence, ...added } }
}
