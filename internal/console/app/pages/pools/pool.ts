import type { Pool } from 'attribution-service/sdk/api'
import type { Actors } from '../../parts/who.js'

export const POOLS_PATH = '/api/v1/pools'

export type Rule = Pool['rules'][number]

export const CONDITIONS = {
  provider: 'provider',
  ingestion_layer: 'capture layer',
  principal_id: 'credential',
} as const satisfies Readonly<Record<keyof Rule, string>>

/** "provider bedrock and capture layer proxy" */
export const ruleShown = (rule: Rule, actors: Actors): string =>
  (Object.keys(CONDITIONS) as (keyof Rule)[])
    .flatMap((name) => {
      const value = rule[name]
      if (value === undefined) return []
      return [`${CONDITIONS[name]} ${name === 'principal_id' ? (actors.get(value) ?? value) : value}`]
    })
    .join(' and ')
