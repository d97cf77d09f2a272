import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Ask, askAs } from '../support/ask.js'
import { attributed, attributedAll, type ShownRecord } from '../support/attributed.js'
import { wireEvent } from '../support/invocations.js'
import { launchService, type RunningService } from '../support/service.js'

/** Stage A's trace correlation, on the running pipeline: whichever of a workflow's calls comes first. */

let service: RunningService
let ask: Ask

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-control', '1000', '--rate-read', '1000'] })
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
})
afterAll(() => service.stop())

const TOKENS = { input_tokens: 1200, output_tokens: 250 }
const silent = (traceId: string) => ({ trace_id: traceId, ...TOKENS })
const stated = (traceId: string, name = 'support-chat') => ({
  ...silent(traceId),
  attributed_service: name,
  attributed_identity: 'ada@example.com',
})

/** The record once it shows what is awaited, within a minute. */
async function until(id: string, shows: (record: ShownRecord) => boolean): Promise<ShownRecord> {
  for (const end = Date.now() + 60_000; ; await sleep(20)) {
    const { json } = await ask('GET', `/v1/attribution/${id}`)
    if (shows(json) || Date.now() > end) return json
  }
}
const basisOf = (record: ShownRecord): string => record.interpretation.evidence_basis
const isCorrelated = (record: ShownRecord): boolean => basisOf(record) === 'trace_correlated'
const CORRELATED = {
  service: 'support-chat',
  // Never the person who made the other call: groups of calls without an identity are shown by name (k = 5).
  owner: 'unassigned',
  output_state: 'deterministically_resolved',
  interpretation: {
    stage_origin: 'stage_a',
    confidence: 0.82,
    confidence_band: 'chargeback_ready',
    evidence_basis: 'trace_correlated',
    degradation_state: 'none',
    export_eligibility: 'eligible',
  },
  explanation: { evidence: { service_from: 'trace' } },
}

describe('a call that states nothing', () => {
  test('a call without labels gets the service of its trace when an earlier call stated it', async () => {
    const traceId = randomUUID()
    await attributed(ask, stated(traceId))

    expect(await attributed(ask, silent(traceId))).toMatchObject(CORRELATED)
  })

  test('calls without labels get the service of their trace at once when others of their bulk state it', async () => {
    const traceId = randomUUID()
    // So many that each partition has calls that state it.
    const calls = Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? silent(traceId) : stated(traceId)))
    const records = (await attributedAll(ask, calls)).filter((_, i) => i % 2 === 0)

    expect(records.filter(isCorrelated)).toHaveLength(20)
    expect(records.flatMap(({ explanation }) => explanation.history ?? [])).toEqual([])
  })

  test('a call without labels gets a new version when a later call states the service of the trace', async () => {
    const traceId = randomUUID()
    const first = await attributed(ask, silent(traceId))
    expect(isCorrelated(first)).toBe(false)

    await attributed(ask, stated(traceId))
    const second = await until(first.id, isCorrelated)

    expect(second).toMatchObject(CORRELATED)
    const { cost_usd, energy_wh, carbon_gco2e, event_time } = first
    expect(second).toMatchObject({ cost_usd, energy_wh, carbon_gco2e, event_time })
    expect(second.materialized_at > first.materialized_at).toBe(true)
    expect(second.explanation.history).toMatchObject([
      { service: first.service, ended_by: { change: 'correction', actor: 'stage_a' } },
    ])
  })

  test('a call without labels gets its trace’s service although the attributor was killed in between', async () => {
    const traceIds = [randomUUID(), randomUUID()]
    const [early, late] = await attributedAll(ask, [silent(traceIds[0] ?? ''), stated(traceIds[1] ?? '')])

    process.kill(service.pid('attributor'), 'SIGKILL')
    await attributed(ask, stated(traceIds[0] ?? ''))

    expect(await until(early.id, isCorrelated)).toMatchObject(CORRELATED)
    expect(isCorrelated(late)).toBe(false)
    expect(await attributed(ask, silent(traceIds[1] ?? ''))).toMatchObject(CORRELATED)
  })

  test('a call without labels becomes unresolved again when its trace has two services', async () => {
    const traceId = randomUUID()
    await attributed(ask, stated(traceId))
    const open = await attributed(ask, silent(traceId))
    expect(isCorrelated(open)).toBe(true)

    await attributed(ask, stated(traceId, 'search'))
    const contested = await until(open.id, (record) => !isCorrelated(record))

    expect(contested).toMatchObject({ service: 'unallocated', output_state: 'unresolved' })
    // One that comes now ends like one that was there before.
    expect(await attributed(ask, silent(traceId))).toMatchObject({ service: 'unallocated', output_state: 'unresolved' })
  })

  test('a call without labels keeps a person’s override', async () => {
    const traceId = randomUUID()
    const first = await attributed(ask, silent(traceId))
    const decision = { service: 'batch', owner: 'team-batch', reason: 'It is the nightly job.' }
    await ask('POST', `/v1/attribution/${first.id}/override`, decision)

    // The correction of the second comes behind that of the first.
    const second = await attributed(ask, silent(traceId))
    await attributed(ask, stated(traceId))
    await until(second.id, isCorrelated)

    expect(await until(first.id, () => true)).toMatchObject({ service: 'batch', output_state: 'overridden' })
  })
})

test('two hundred calls of forty workflows end alike, each as one record, in any order of arrival', async () => {
  const ingestion_timestamp = new Date().toISOString()
  const workflows = Array.from({ length: 40 }, (_, i) => {
    const traceId = randomUUID()
    return Array.from({ length: 5 }, (__, at) => (at === i % 5 ? stated(traceId) : silent(traceId)))
  })
  // The first calls of all workflows, then their second ones, and so on, each lot in batches of its own.
  for (let at = 0; at < 5; at++) {
    const calls = workflows.map((workflow) => ({ ...workflow[at], event_id: randomUUID(), ingestion_timestamp }))
    expect((await ask('POST', '/api/v1/invocations', calls.map(wireEvent))).status).toBe(202)
    await sleep(300) // as long as a batch waits for others: they are decided apart
  }

  let bases: string[] = []
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(100)) {
    const { json } = await ask('GET', '/v1/attribution?limit=200')
    const records: ShownRecord[] = json.data.filter(({ event_time }: ShownRecord) => event_time === ingestion_timestamp)
    bases = records.map(basisOf)
    if (bases.filter((basis) => basis === 'trace_correlated').length === 160) break
  }
  expect(bases.toSorted()).toEqual([
    ...Array.from({ length: 40 }, () => 'identity_and_service_resolved'),
    ...Array.from({ length: 160 }, () => 'trace_correlated'),
  ])
})
