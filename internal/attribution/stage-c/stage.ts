import { eachInvocation, type Stage } from '../actor/stage.js'
import { type RowDeps, RULES_VERSION, toRow } from '../row.js'

/** The pool of what nobody could be named for, and its owner. */
export const DEFAULT_POOL = 'unallocated'

/** An allocation says where a cost is kept, not who caused it: far below the 0.50 of a provisional record. */
const DEFAULT_POOL_CONFIDENCE = 1_000

/**
 * Stage C: allocation. Mailbox `invocations.c.<partition>`. What no stage before could resolve is kept in the
 * tenant's default pool, unresolved; nothing is guessed. Stage B did not take part, and the record says so.
 */
export function stageC(deps: RowDeps): Stage {
  const verdict = {
    service: DEFAULT_POOL,
    owner: DEFAULT_POOL,
    stageOrigin: 'stage_c',
    evidenceBasis: 'default_pool',
    confidence: DEFAULT_POOL_CONFIDENCE,
    outputState: 'unresolved',
    modelVersion: RULES_VERSION,
    degradationState: 'disabled',
    evidence: { pool: DEFAULT_POOL, rule: 'default' },
  } as const
  return {
    name: 'c',
    next: undefined,
    open: async (partition) => ({
      handle: async ({ invocations, validFromMs }) =>
        eachInvocation(invocations, (admitted) => toRow(admitted, verdict, { partition, validFromMs }, deps)),
    }),
  }
}
