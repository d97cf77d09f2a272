import { expect, test } from 'vitest'
import { newJob, type ReattributionJob } from '../../../../internal/attribution/changes/reattribution-job.js'
import { recentAnswers } from '../../../../internal/attribution/reattributions/recent.js'
import type { AuditLogRow } from '../../../../internal/store/tables/audit-log.js'
import { NOW_MS } from '../../../support/invocations.js'

const row = (action: string, target: string, changes: object | null = null): AuditLogRow => ({
  tenantId: 'tnt_one',
  sequence: 1,
  hash: '',
  createdAtMs: NOW_MS,
  actor: 'usr_ada',
  action,
  target,
  outcome: 'succeeded',
  errorCode: '',
  traceId: '',
  sourceAddress: '',
  changes: JSON.stringify(changes),
  repeats: 1,
})

const job = (id: string, stated: Partial<ReattributionJob>): ReattributionJob => ({
  ...newJob({ id, tenant_id: 'tnt_one', from_ms: 0, to_ms: NOW_MS, model: null, actor: 'usr_ada' }, NOW_MS),
  status: 'done',
  seen: 10,
  changed: 3,
  ...stated,
})

const listed = (rows: readonly AuditLogRow[], ...jobs: readonly ReattributionJob[]) =>
  recentAnswers(rows, {
    job: async (id) => jobs.find((each) => each.id === id),
    hasRule: (id) => id === 'mrl_1',
    nameOfRule: (id) => (id === 'mrl_1' ? 'claude-code' : undefined),
  })

const SERVICE = { name: 'search', owner: 'team-search' }
const answer = { kind: 'services', key: 'k', before: null, after: SERVICE, revision: 1 } as const
const moves = [{ from_owner: 'unassigned', to_owner: 'team-search', records: 3, cost_usd: '0.5' }]
const put = row('directory.put', 'svc_1', { after: { ...SERVICE, aliases: null, reattribution: 'rea_1' } })

test('a service that moved calls is listed with who, when, what and how much', async () => {
  expect(await listed([put], job('rea_1', { answer, moves }))).toEqual([
    {
      id: 'rea_1',
      what: 'service',
      name: 'search',
      before: null,
      after: SERVICE,
      actor: 'usr_ada',
      created_at: new Date(NOW_MS).toISOString(),
      status: 'done',
      can_undo: true,
      seen: 10,
      records: 3,
      cost_usd: '0.5',
    },
  ])
})

test.each([
  ['still running', { status: 'running' }, { status: 'running', can_undo: false }],
  ['of no change', { answer: { ...answer, before: SERVICE } }, { status: 'done', can_undo: false }],
  ['undone', { undone_by: 'rea_2' }, { status: 'undone', can_undo: false }],
] as const)('one that is %s cannot be undone', async (_, stated, shown) => {
  expect(await listed([put], job('rea_1', { answer, moves, ...stated }))).toMatchObject([shown])
})

test('an override that was undone says so, and one that was made after that stands', async () => {
  const of = (action: string) => row(`attribution.${action}`, 'attr_1', { after: { service: 'search' } })

  expect(await listed([of('override'), of('undo_override'), of('override')])).toMatchObject([
    { what: 'call', status: 'done', can_undo: true, records: 1, cost_usd: null },
    { what: 'call', status: 'undone', can_undo: false },
  ])
})

test('rules can be undone while they are there; names, and jobs that are gone, cannot', async () => {
  const apply = (id: string) => row('mapping_rule.apply', id)
  const mapped = (id: string, rule?: string) =>
    job(id, { mapping: { revision: 1, ...(rule !== undefined && { rule }) }, moves })
  const jobs = [mapped('rea_1', 'mrl_1'), mapped('rea_2', 'mrl_2'), mapped('rea_3'), job('rea_4', { service: 'serch' })]

  expect(await listed([...jobs.map(({ id }) => apply(id)), apply('rea_gone')], ...jobs)).toMatchObject([
    { what: 'mapping_rule', name: 'claude-code', can_undo: true },
    { what: 'mapping_rule', name: 'mrl_2', can_undo: false },
    { what: 'mapping_rule', name: null, can_undo: false },
    { what: 'name', name: 'serch', can_undo: false, cost_usd: null },
  ])
})
