/** Mapping rules, and the jobs that try or apply them. */
export interface Rule {
  readonly id: string
  readonly name: string
  readonly version: number
  readonly priority: number
  readonly from: string | null
  readonly to: string | null
  readonly when: readonly Condition[]
  readonly set: { readonly service: string; readonly owner?: string; readonly tags?: Readonly<Record<string, string>> }
}

export interface Condition {
  readonly field: string
  /** Of a tag. */
  readonly key?: string
  readonly match: string
  readonly value: string
}

export interface RuleJob {
  readonly id: string
  readonly status: 'running' | 'done' | 'cancelled'
  readonly seen: number
  readonly records: number
  readonly cost_usd: string
  readonly unnamed: number
  readonly moves: readonly {
    readonly from_service: string
    readonly from_owner: string
    readonly to_service: string
    readonly to_owner: string
    readonly records: number
    readonly cost_usd: string
  }[]
}

export const RULES_PATH = '/api/v1/mapping-rules'
export const jobPath = ({ id }: RuleJob): string => `${RULES_PATH}/jobs/${id}`
export const isOver = ({ status }: RuleJob): boolean => status !== 'running'

export const RULE_FIELDS: Readonly<Record<string, string>> = {
  user_agent: 'user agent',
  key_alias: 'alias of the key',
  team: 'team of the key',
  namespace: 'namespace',
  identity: 'identity',
  model: 'model',
  tag: 'tag',
}
export const MATCHES: Readonly<Record<string, string>> = { exact: 'is', prefix: 'begins with', glob: 'is like' }

export const conditionWords = ({ field, key, match, value }: Condition): string =>
  `${RULE_FIELDS[field] ?? field}${key === undefined ? '' : ` ${key}`} ${MATCHES[match] ?? match} ${value}`
