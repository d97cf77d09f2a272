import type { MappingJob, MappingRule } from 'attribution-service/sdk/api'

/** Mapping rules, and the jobs that try or apply them. */
export type Rule = MappingRule

export type Condition = MappingRule['when'][number]

export type RuleJob = MappingJob

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
