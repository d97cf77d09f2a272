import { z } from 'zod'
import type { ResourceContract } from '../../http/resource/resource-operations.js'
import { exampleId, idOf, timeText } from '../../text/answer-fields.js'
import {
  MATCHES,
  newest,
  type RuleChanges,
  type RuleFields,
  ruleChanges,
  ruleFields,
  type StoredRule,
  TESTED_FIELDS,
} from './mapping-rule.js'

/** The API contract of mapping rules. */

const shownVersion = {
  version: z.int().min(1),
  from: timeText().nullable(),
  to: timeText().nullable(),
  priority: z.int(),
  when: z.array(
    z.object({
      field: z.enum(['tag', ...TESTED_FIELDS]),
      key: z.string().optional(),
      match: z.enum(MATCHES),
      value: z.string(),
    }),
  ),
  set: z.object({
    service: z.string(),
    owner: z.string().optional(),
    tags: z.record(z.string(), z.string()).optional(),
  }),
  stated_at: timeText(),
}

const rule = z
  .object({
    id: idOf('mrl'),
    name: z.string(),
    created_at: timeText(),
    ...shownVersion,
    versions: z
      .array(z.object(shownVersion))
      .meta({ description: 'The versions that hold for some time, oldest first; the last one is that of the rule.' }),
  })
  .meta({ id: 'MappingRule' })

export const shownRule = (stored: StoredRule) => ({
  id: stored.id,
  name: stored.name,
  created_at: stored.created_at,
  ...newest(stored),
  versions: stored.versions,
})

export const EXAMPLE_RULE: RuleFields = {
  name: 'claude-code',
  when: [{ field: 'user_agent', match: 'prefix', value: 'claude-code/' }],
  set: { service: 'developer-tools', owner: 'team-platform' },
}

const VERSION = {
  version: 1,
  from: null,
  to: null,
  priority: 100,
  when: EXAMPLE_RULE.when,
  set: EXAMPLE_RULE.set,
  stated_at: '2026-11-21T09:30:00.000Z',
}

export const PATH = '/api/v1/mapping-rules'

export const MAPPING_RULE = {
  path: PATH,
  prefix: 'mrl',
  tag: 'Mapping rules',
  word: 'MappingRule',
  plural: 'MappingRules',
  order: 'by priority and name',
  record: rule,
  fields: ruleFields,
  changes: ruleChanges,
  example: {
    record: {
      id: exampleId('mrl'),
      name: EXAMPLE_RULE.name,
      created_at: '2026-11-21T09:30:00.000Z',
      ...VERSION,
      versions: [VERSION],
    },
    fields: EXAMPLE_RULE,
    changes: { from: '2027-01-01T00:00:00Z', set: { service: 'developer-tools', owner: 'team-tools' } },
  },
  descriptions: {
    create:
      'A call whose service the directory does not know is attributed by the first rule that matches it: ' +
      '`evidence_basis` `mapping_rule`, with 0.90 where the credential that sent it is a gateway’s (`is_gateway`), ' +
      'else, and for what callers could have written (user agent, tags below `caller.`, free metadata over OTLP; see ' +
      '`trusted_fields` of the settings), with 0.70. Applies to calls ' +
      'attributed after this request.',
    update:
      'Adds a version, which holds from its `from` on; calls from before that time keep the versions before it. ' +
      '`name` cannot be changed. Existing records are unchanged.',
    delete: 'Existing records are unchanged.',
  },
  problems: { update: ['CONFLICT'] },
} as const satisfies ResourceContract<RuleFields, RuleChanges>
