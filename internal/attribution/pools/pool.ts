import { z } from 'zod'
import { name } from '../../text/plain-text.js'

/** A cost pool: where the cost of unattributed calls is allocated, and who owns it. */

/** Name and owner of the pool for calls that match no rule. */
export const DEFAULT_POOL = 'unallocated'

/** Pools per tenant. */
export const POOLS_MAX = 500
export const RULES_MAX = 64
const PRIORITY_MAX = 1_000
const PRIORITY_DEFAULT = 100

/** A rule matches a call that meets all its conditions. */
export interface PoolRule {
  readonly provider?: string
  readonly ingestion_layer?: string
  /** Id of the credential that sent the call. */
  readonly principal_id?: string
}

/** A pool in the bucket `pools`, under its id. */
export interface StoredPool {
  readonly id: string
  readonly tenant_id: string
  readonly name: string
  readonly owner: string
  /** Among pools with a matching rule the lowest number wins, then the first by name. */
  readonly priority: number
  readonly rules: readonly PoolRule[]
  readonly created_at: string
}

export const CONDITIONS = ['provider', 'ingestion_layer', 'principal_id'] as const satisfies readonly (keyof PoolRule)[]

const rule = z
  .strictObject({ provider: name().nullish(), ingestion_layer: name().nullish(), principal_id: name().nullish() })
  .refine((stated) => CONDITIONS.some((condition) => stated[condition] != null), 'must name at least one condition')
  .meta({ id: 'PoolRule', description: 'Matches calls that meet all given conditions.' })

const poolName = () => name().refine((text) => text !== DEFAULT_POOL, 'is the name of the default pool')
const priority = () =>
  z
    .int()
    .min(0)
    .max(PRIORITY_MAX)
    .meta({ description: `Lower numbers win; ties are broken by name. Default: ${PRIORITY_DEFAULT}.` })
const rules = () =>
  z.array(rule).min(1).max(RULES_MAX).meta({ description: 'A call matches the pool if it matches any rule.' })

export const poolFields = z.strictObject({
  name: poolName().meta({ description: 'Appears in records as their service.' }),
  owner: name().meta({ description: 'Team or cost centre that owns the cost.' }),
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
  priority: fields.priority ?? PRIORITY_DEFAULT,
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
