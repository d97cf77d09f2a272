import { z } from 'zod'
import { name } from '../../text/plain-text.js'

/** A cost pool: where the cost of calls is kept that nobody could be named for, and who answers for it. */

/** The pool of what no rule takes, and its owner. */
export const DEFAULT_POOL = 'unallocated'

/** Pools of a tenant. */
export const POOLS_MAX = 500
export const RULES_MAX = 64
export const PRIORITY_MAX = 1_000
const PRIORITY_USUAL = 100

/** A call is taken by a rule when it meets all that the rule names. */
export interface PoolRule {
  readonly provider?: string
  readonly ingestion_layer?: string
  /** Id of the credential that sent the call. */
  readonly principal_id?: string
}

/** As it is kept, under its id in the bucket `pools`. */
export interface StoredPool {
  readonly id: string
  readonly tenant_id: string
  readonly name: string
  readonly owner: string
  /** Of several pools whose rules take a call, the one with the lowest number has it, then the first by name. */
  readonly priority: number
  readonly rules: readonly PoolRule[]
  readonly created_at: string
}

export const CONDITIONS = ['provider', 'ingestion_layer', 'principal_id'] as const satisfies readonly (keyof PoolRule)[]

const rule = z
  .strictObject({ provider: name().nullish(), ingestion_layer: name().nullish(), principal_id: name().nullish() })
  .refine((stated) => CONDITIONS.some((condition) => stated[condition] != null), 'must name at least one condition')
  .meta({ id: 'PoolRule', description: 'Takes calls that meet all that it names.' })

const poolName = () => name().refine((text) => text !== DEFAULT_POOL, 'is the name of the default pool')
const priority = () =>
  z
    .int()
    .min(0)
    .max(PRIORITY_MAX)
    .meta({ description: `Lower goes first; then the name decides. ${PRIORITY_USUAL} when absent.` })
const rules = () => z.array(rule).min(1).max(RULES_MAX).meta({ description: 'Any of them takes a call.' })

export const poolFields = z.object({
  name: poolName().meta({ description: 'Stands in the records as their service.' }),
  owner: name().meta({ description: 'Who answers for its cost.' }),
  priority: priority().nullish(),
  rules: rules(),
})
export type PoolFields = z.infer<typeof poolFields>

export const poolChanges = z.strictObject({
  owner: name().optional(),
  priority: priority().optional(),
  rules: rules().optional(),
})
export type PoolChanges = z.infer<typeof poolChanges>

export const storedPool = (fields: PoolFields, id: string, tenantId: string, nowMs: number): StoredPool => ({
  id,
  tenant_id: tenantId,
  name: fields.name,
  owner: fields.owner,
  priority: fields.priority ?? PRIORITY_USUAL,
  rules: storedRules(fields.rules),
  created_at: new Date(nowMs).toISOString(),
})

export const changedPool = (pool: StoredPool, changes: PoolChanges): StoredPool => ({
  ...pool,
  owner: changes.owner ?? pool.owner,
  priority: changes.priority ?? pool.priority,
  rules: changes.rules === undefined ? pool.rules : storedRules(changes.rules),
})

const storedRules = (stated: PoolFields['rules']): PoolRule[] =>
  stated.map((each) =>
    Object.fromEntries(
      CONDITIONS.flatMap((condition) => (each[condition] == null ? [] : [[condition, each[condition]]])),
    ),
  )
