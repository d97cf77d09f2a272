import { expect, test } from 'vitest'
import { type CoverageFacts, coverageOf } from '../../../../internal/sentinel/coverage/coverage.js'
import type { SeenLayer } from '../../../../internal/store/queries/reports/coverage.js'

const layer = (stated: Partial<SeenLayer>): SeenLayer => ({
  pathway: 'gateway_mediated',
  layer: 'gateway',
  lastEventAtMs: 1_000,
  calls: 10,
  unattributedCalls: 0,
  days: 0,
  ...stated,
})
const of = (facts: Partial<CoverageFacts>) =>
  coverageOf({ seen: [], observed: [], sources: [], passedOver: [], ...facts })

test('a share of unattributed calls is never rounded to none', () => {
  const [pathway] = of({ seen: [layer({ calls: 1_000_000, unattributedCalls: 1 })] })

  expect(pathway?.unattributedShare).toBe(1)
})

test('a share of all calls but one is not shown as all', () => {
  const [pathway] = of({ seen: [layer({ calls: 1_000_000, unattributedCalls: 999_999 })] })

  expect(pathway?.unattributedShare).toBe(9_999)
})

test('a pathway whose layers all send is covered', () => {
  expect(of({ seen: [layer({ unattributedCalls: 1 })] })).toEqual([
    {
      pathway: 'gateway_mediated',
      status: 'covered',
      layersDeployed: ['gateway'],
      layersMissing: [],
      discoveryOnly: [],
      lastEventAtMs: 1_000,
      unattributedShare: 1_000,
      passedOver: [],
    },
  ])
})

test('a layer declared in the directory that sends nothing is missing', () => {
  const [pathway] = of({ seen: [layer({})], sources: [{ name: 'edge', pathway: 'gateway_mediated' }] })

  expect(pathway).toMatchObject({ status: 'degraded', layersMissing: ['edge'] })
})

test('a silent layer is missing if it sent calls on three days, but not on two', () => {
  const [pathway] = of({ seen: [layer({ calls: 0, days: 3 }), layer({ layer: 'trial', calls: 0, days: 2 })] })

  expect(pathway).toMatchObject({ status: 'degraded', layersDeployed: [], layersMissing: ['gateway'] })
})

test('a source marked in the directory, or named only by observations, is discovery-only and never a layer', () => {
  const pathways = of({
    seen: [layer({ layer: 'firewall', pathway: 'proxy_mediated' })],
    sources: [{ name: 'firewall', pathway: 'proxy_mediated', is_discovery_only: true }],
    observed: [
      { source: 'dns-log', lastEventAtMs: 5 },
      { source: 'firewall', lastEventAtMs: 5 },
    ],
  })

  expect(pathways).toMatchObject([
    { pathway: 'proxy_mediated', status: 'discovery_only', layersDeployed: [], discoveryOnly: ['firewall'] },
    { pathway: 'other', status: 'discovery_only', discoveryOnly: ['dns-log'] },
  ])
})

test('a layer that sends both calls and observations is a capture layer', () => {
  expect(of({ seen: [layer({})], observed: [{ source: 'gateway', lastEventAtMs: 5 }] })).toMatchObject([
    { status: 'covered', discoveryOnly: [] },
  ])
})

test('a layer that the directory declares counts for the pathway declared there, whatever it is called', () => {
  const sources = [{ name: 'edge', pathway: 'gateway_mediated' } as const]
  const called = layer({ layer: 'edge', pathway: 'other', lastEventAtMs: 7_000 })

  expect(of({ seen: [called], sources })).toMatchObject([
    {
      pathway: 'gateway_mediated',
      status: 'covered',
      layersDeployed: ['edge'],
      layersMissing: [],
      lastEventAtMs: 7_000,
    },
  ])
})

test('a declared layer that sends only batches is present on its own pathway, and batches stay batches', () => {
  const sources = [{ name: 'edge', pathway: 'gateway_mediated' } as const]

  expect(of({ seen: [layer({ layer: 'edge', pathway: 'batch' })], sources })).toMatchObject([
    { pathway: 'gateway_mediated', status: 'covered', layersDeployed: ['edge'], unattributedShare: undefined },
    { pathway: 'batch', status: 'covered', layersDeployed: ['edge'], unattributedShare: 0 },
  ])
})

test('the newest observation dates a pathway on which nothing captures calls', () => {
  expect(of({ observed: [{ source: 'dns-log', lastEventAtMs: 5 }] })).toMatchObject([{ lastEventAtMs: 5 }])
})

test('telemetry that became no records shows on the pathway of its layer, also where nothing else does', () => {
  const passedOver = [
    { layer: 'application', kind: 'agent', count: 3, lastAtMs: 9 },
    { layer: 'gateway', kind: 'chain', count: 1, lastAtMs: 5 },
  ]

  expect(of({ seen: [layer({})], passedOver })).toMatchObject([
    { pathway: 'application_direct', status: 'silent', layersDeployed: [], passedOver: [passedOver[0]] },
    { pathway: 'gateway_mediated', status: 'covered', passedOver: [passedOver[1]] },
  ])
  expect(of({ sources: [{ name: 'application', pathway: 'proxy_mediated' }], passedOver })).toMatchObject([
    { pathway: 'gateway_mediated', status: 'silent' },
    { pathway: 'proxy_mediated', status: 'degraded', passedOver: [passedOver[0]] },
  ])
})
