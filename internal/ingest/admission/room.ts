import type { Problem } from '../../problems/problem-catalogue.js'
import type { AdmissionDeps } from './admission.js'
import { TOO_MUCH } from './answers.js'

/**
 * Why nothing of a batch can be taken now. Asked before the batch is charged: its repeat would meet a debt for what was
 * not taken.
 */
export const noRoomFor = (
  count: number,
  tenantId: string,
  { groups, tenantShares }: Pick<AdmissionDeps, 'groups' | 'tenantShares'>,
): Problem | undefined => (count > groups.eventsAvailable ? TOO_MUCH : tenantShares.refusal(tenantId))
