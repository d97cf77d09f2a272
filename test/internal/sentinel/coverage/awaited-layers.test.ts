import { expect, test } from 'vitest'
import {
  awaitedLayers,
  isStillAwaited,
  type TenantCoverage,
} from '../../../../internal/sentinel/coverage/awaited-layers.js'
import type { PathwayCoverage } from '../../../../internal/sentinel/coverage/coverage.js'

const pathway = (stated: Partial<PathwayCoverage>): PathwayCoverage => ({
  pathway: 'batch',
  status: 'silent',
  layersDeployed: [],
  layersMissing: [],
  discoveryOnly: [],
  lastEventAtMs: undefined,
  passedOver: [],
  unattributedShare: undefined,
  ...stated,
})
const coverage = (stated: Partial<PathwayCoverage>, sources: TenantCoverage['sources'] = []): TenantCoverage => ({
  pathways: [pathway(stated)],
  sources,
})
const EDGE = { name: 'edge', pathway: 'batch' } as const

test('missing layers join the awaited ones, which remember that the directory declared them', () => {
  const before = [{ name: 'gateway', isDeclared: true }]

  expect(awaitedLayers(before, 'batch', coverage({ layersMissing: ['edge', 'mesh'] }, [EDGE]))).toEqual([
    { name: 'gateway', isDeclared: true },
    { name: 'edge', isDeclared: true },
    { name: 'mesh', isDeclared: false },
  ])
  expect(awaitedLayers(before, 'batch', { pathways: [], sources: [] })).toEqual(before)
})

test.each([
  ['is missing', true, coverage({ layersMissing: ['edge'] })],
  ['sends again', false, coverage({ layersDeployed: ['edge'] })],
  ['is expected no more', true, coverage({})],
  ['only sends observations', true, coverage({ discoveryOnly: ['edge'] })],
  ['is marked in the directory', false, coverage({}, [{ ...EDGE, is_discovery_only: true }])],
  ['is on a pathway of which nothing is known', true, { pathways: [], sources: [] }],
  ['sends on another pathway', true, coverage({ pathway: 'other', layersDeployed: ['edge'] })],
] as const)('a layer of no directory that %s is awaited still: %s', (_, isAwaited, now) => {
  expect(isStillAwaited({ name: 'edge', isDeclared: false }, 'batch', now)).toBe(isAwaited)
})

test('a layer removed from the directory, or moved to another pathway, is awaited only if still expected', () => {
  const edge = { name: 'edge', isDeclared: true }

  expect(isStillAwaited(edge, 'batch', coverage({}))).toBe(false)
  expect(isStillAwaited(edge, 'batch', coverage({}, [{ ...EDGE, pathway: 'other' }]))).toBe(false)
  expect(isStillAwaited(edge, 'batch', coverage({ layersMissing: ['edge'] }))).toBe(true)
})
