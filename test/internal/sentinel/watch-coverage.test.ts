import type { KV } from '@nats-io/kv'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { bucketRecords, type Records } from '../../../internal/broker/records.js'
import { tenantIdsCache } from '../../../internal/ids/ids.js'
import type { AnnounceDeps } from '../../../internal/sentinel/announce-findings.js'
import { type CoverageFacts, coverageOf } from '../../../internal/sentinel/coverage/coverage.js'
import { type CoverageState, type Streaks, watchCoverage } from '../../../internal/sentinel/watch-coverage.js'
import type { SeenLayer } from '../../../internal/store/queries/reports/coverage.js'
import { ANNOUNCEMENTS, COVERAGE_STATES } from '../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../support/buckets.js'

let buckets: Buckets
let announcements: KV
let coverageStates: KV
beforeAll(async () => {
  buckets = await launchBuckets()
  announcements = await buckets.open(ANNOUNCEMENTS)
  coverageStates = await buckets.open(COVERAGE_STATES)
})
afterAll(() => buckets.close())

let tenantId = 'tnt_0'
let streaks: Streaks
/** The events stored in EVENTS: types and layers, in order. */
let emitted: string[]
/** `data` of these. */
let payloads: Record<string, unknown>[]
let ids: string[]
beforeEach(() => {
  tenantId = `tnt_${Number(tenantId.slice(4)) + 1}`
  streaks = new Map()
  emitted = []
  payloads = []
  ids = []
})

const store: AnnounceDeps['store'] = async (_, text, id) => {
  const { type, data } = JSON.parse(text)
  emitted.push(`${type} ${data.pathway} ${data.layers_missing}`)
  payloads.push(data)
  ids.push(id)
}

const layer = (stated: Partial<SeenLayer> = {}): SeenLayer => ({
  pathway: 'gateway_mediated',
  layer: 'gateway',
  lastEventAtMs: 1_000,
  calls: 10,
  unattributedCalls: 0,
  days: 7,
  ...stated,
})
const EDGE = { name: 'edge', pathway: 'other' } as const

/** Runs a number of checks with the same facts. */
async function check(
  facts: Partial<CoverageFacts>,
  { checks = 3, ...stated }: Partial<AnnounceDeps> & { checks?: number; states?: Records<CoverageState> } = {},
): Promise<void> {
  const { states = bucketRecords<CoverageState>(coverageStates, async () => undefined), ...announcing } = stated
  const deps: AnnounceDeps = {
    bucket: announcements,
    idsOf: tenantIdsCache(new Uint8Array(32)),
    store,
    lastSequence: async () => 0,
    isStored: async () => false,
    clock: Date.now,
    ...announcing,
  }
  for (let i = 0; i < checks; i++) {
    const pathways = coverageOf({ seen: [], observed: [], sources: [], passedOver: [], ...facts })
    await watchCoverage(tenantId, { pathways, sources: [...(facts.sources ?? [])] }, streaks, states, deps)
  }
}

/** Removes the announcements, as their expiry after 62 days does. */
async function forgetAnnouncements(): Promise<void> {
  for await (const key of await announcements.keys()) await announcements.purge(key)
}

test('a coverage change is emitted once, after three consecutive checks agree', async () => {
  await check({ sources: [EDGE] }, { checks: 2 })
  expect(emitted).toEqual([])

  await check({ sources: [EDGE] }, { checks: 5 })
  await check({ sources: [EDGE], seen: [layer({ layer: 'edge', pathway: 'other' })] })

  expect(emitted).toEqual(['coverage.degraded other edge', 'coverage.restored other edge'])
})

test('a coverage change is not emitted again after its announcement expired', async () => {
  await check({ sources: [EDGE] })

  await forgetAnnouncements()
  await check({ sources: [EDGE] })

  expect(emitted).toEqual(['coverage.degraded other edge'])
})

test('an unemitted coverage change is emitted by the next check, as the same event, before any other', async () => {
  const failing: AnnounceDeps['store'] = async (_, __, id) => {
    ids.push(id)
    throw new Error('the broker is unavailable')
  }
  await expect(check({ sources: [EDGE] }, { store: failing })).rejects.toThrow('unavailable')

  await check({ sources: [EDGE], seen: [layer({ layer: 'edge', pathway: 'other' })] })

  expect(emitted).toEqual(['coverage.degraded other edge', 'coverage.restored other edge'])
  expect(ids[1]).toBe(ids[0])
})

test('a coverage change is emitted once although a sentinel crashed between publishing and recording it', async () => {
  const states = bucketRecords<CoverageState>(coverageStates, async () => undefined)
  const dying: Records<CoverageState> = {
    ...states,
    change: async (key, change) => {
      if (emitted.length > 0) throw new Error('killed')
      return states.change(key, change)
    },
  }
  await expect(check({ sources: [EDGE] }, { states: dying })).rejects.toThrow('killed')

  await check({ sources: [EDGE] }, { checks: 1 })
  await forgetAnnouncements()
  await check({ sources: [EDGE] })

  expect(emitted).toEqual(['coverage.degraded other edge'])
})

test('a pathway whose only source is removed or marked discovery-only is restored, and can degrade again', async () => {
  await check({ sources: [EDGE] })
  await check({})
  await check({ sources: [EDGE] })
  await check({ sources: [{ ...EDGE, is_discovery_only: true }] })
  await check({ sources: [EDGE] })

  expect(emitted).toEqual([
    'coverage.degraded other edge',
    'coverage.restored other edge',
    'coverage.degraded other edge',
    'coverage.restored other edge',
    'coverage.degraded other edge',
  ])
  expect(new Set(ids).size).toBe(5)
})

test('a pathway is restored when its silent layer sends again, not when the layer is no longer expected', async () => {
  await check({ seen: [layer({ calls: 0 })] })
  await check({ seen: [layer({ calls: 0, days: 2 })] })
  await check({})
  expect(emitted).toEqual(['coverage.degraded gateway_mediated gateway'])

  await check({ seen: [layer({ days: 0 })] })

  expect(emitted).toEqual(['coverage.degraded gateway_mediated gateway', 'coverage.restored gateway_mediated gateway'])
})

test('a pathway is restored when its removed layer is marked discovery-only or deleted in the directory', async () => {
  const gateway = { name: 'gateway', pathway: 'gateway_mediated' } as const
  await check({ seen: [layer({ calls: 0 })] })
  await check({ sources: [{ ...gateway, is_discovery_only: true }] })
  await check({ seen: [layer({ calls: 0 })] })
  await check({ sources: [gateway] }, { checks: 1 })
  await check({})

  const [degraded, restored] = [
    'coverage.degraded gateway_mediated gateway',
    'coverage.restored gateway_mediated gateway',
  ]
  expect(emitted).toEqual([degraded, restored, degraded, restored])
})

test('a pathway is restored when every layer that went missing since it degraded sends again', async () => {
  const gone = layer({ calls: 0 })
  const other = layer({ layer: 'mesh' })
  await check({ seen: [gone, other] })
  await check({ seen: [gone, { ...other, calls: 0 }] })
  await check({ seen: [layer(), { ...other, calls: 0, days: 2 }] })
  expect(emitted).toEqual(['coverage.degraded gateway_mediated gateway'])

  await check({ seen: [layer(), other] })

  expect(emitted[1]).toBe('coverage.restored gateway_mediated gateway,mesh')
})

test('a restoration names the layers that send again, and those no longer expected', async () => {
  const mesh = { name: 'mesh', pathway: 'other' } as const
  await check({ sources: [EDGE, mesh] })

  await check({ sources: [EDGE], seen: [layer({ layer: 'edge', pathway: 'other' })] })

  expect(payloads[1]).toEqual({
    pathway: 'other',
    layers_missing: ['edge', 'mesh'],
    layers_restored: ['edge'],
    layers_removed: ['mesh'],
  })
})

test('a pathway is restored when its missing layer is declared for another pathway', async () => {
  const gateway = layer({ layer: 'edge', pathway: 'other' })
  await check({ seen: [{ ...gateway, calls: 0 }] })
  await check({ seen: [gateway], sources: [{ name: 'edge', pathway: 'gateway_mediated' }] })

  expect(emitted).toEqual(['coverage.degraded other edge', 'coverage.restored other edge'])
})
