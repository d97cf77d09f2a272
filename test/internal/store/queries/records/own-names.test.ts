import { beforeAll, expect, test } from 'vitest'
import { decidedRow, withDecision } from '../../../../../internal/attribution/changes/decided.js'
import {
  resolvedClassesByPrincipal,
  resolvedClassesOfTraces,
} from '../../../../../internal/store/queries/attribution/resolved-classes.js'
import { trainingRows } from '../../../../../internal/store/queries/attribution/training-window.js'
import { insertRows } from '../../../../../internal/store/sink.js'
import { ATTRIBUTIONS } from '../../../../../internal/store/tables/attributions.js'
import { type Database, openDatabase } from '../../../../support/database.js'
import { idOf, NOW_MS } from '../../../../support/invocations.js'
import { finishedRow } from '../../../../support/rows.js'

let store: Database
beforeAll(async () => {
  store = await openDatabase()
  await insertRows(store.client, ATTRIBUTIONS, ROWS, 'rows')
})

const ADA = 'ada@example.com'
const byIdentity = (number: number, owner: string) =>
  finishedRow(
    { id: idOf(number), invocation: { attributedIdentity: owner, traceId: 'trace' } },
    { verdict: { service: 'chat', owner, evidence: { service_from: 'event', owner_from: 'event_identity' } } },
  )
const ofTeam = (number: number, evidence: object) =>
  finishedRow(
    { id: idOf(number), invocation: { traceId: 'trace' } },
    { verdict: { service: 'chat', owner: 'team', evidence } },
  )
const silent = finishedRow(
  { id: idOf(9) },
  { verdict: { stageOrigin: 'stage_c', evidenceBasis: 'default_pool', confidence: 1_000 } },
)
const forAda = { kind: 'override', service: 'chat', owner: ADA, reason: 'It was hers.' } as const
const ROWS = [
  byIdentity(1, ADA),
  byIdentity(2, 'bob'),
  ofTeam(3, { service_from: 'event', owner_from: 'directory_service' }),
  // What a call may state is not what is said of it.
  ofTeam(4, { stated_service: '"owner_from":"event_identity"', owner_from: 'directory_service' }),
  decidedRow(silent, withDecision({}, forAda, 'key_one'), NOW_MS + 1),
]
const window = { tenantId: 'tnt_one', fromMs: NOW_MS - 1_000, asOfMs: NOW_MS + 1_000 }

test('no model learns to name people, of whom facts or somebody’s decision has said whose a call is', async () => {
  const classes: string[] = []
  for await (const { kind, service, owner } of trainingRows(store.client, { ...window, recordsMax: 100 })) {
    classes.push(`${kind} ${service} ${owner}`)
  }

  expect(classes.sort()).toEqual([
    'override chat unassigned',
    'resolved chat team',
    'resolved chat team',
    'resolved chat unassigned',
    'resolved chat unassigned',
  ])
})

test('the baseline names none either', async () => {
  const counted = { ...window, toMs: NOW_MS + 1_000 }
  const of = (name: string) => [
    { of: name, service: 'chat', owner: 'unassigned', n: name === 'trace' ? 2 : 3, total: name === 'trace' ? 4 : 5 },
    { of: name, service: 'chat', owner: 'team', n: 2, total: name === 'trace' ? 4 : 5 },
  ]
  const principal = ROWS[0]?.principal ?? ''

  expect(await resolvedClassesByPrincipal(store.client, counted)).toEqual(of(principal))
  const ofTraces = await resolvedClassesOfTraces(store.client, counted, ['trace'])
  expect(ofTraces.sort((one, other) => other.owner.localeCompare(one.owner))).toEqual(of('trace'))
})
