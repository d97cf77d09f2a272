import { expect, test } from 'vitest'
import { cellOf, layersOf, type Pathway } from '../../../../internal/console/figures/coverage.js'

const pathway = (stated: Partial<Pathway>): Pathway => ({
  pathway: 'batch',
  status: 'covered',
  layers_deployed: [],
  layers_missing: [],
  discovery_only: [],
  last_event_at: null,
  unattributed_share: null,
  passed_over: [],
  ...stated,
})

test('the map has every layer that any pathway knows, and says what each does', () => {
  const one = pathway({ layers_deployed: ['sdk'], layers_missing: ['gateway'] })
  const other = pathway({ layers_deployed: ['gateway'], discovery_only: ['scanner'] })

  expect(layersOf([one, other])).toEqual(['gateway', 'scanner', 'sdk'])
  expect(layersOf([one, other]).map((layer) => cellOf(one, layer))).toEqual(['missing', 'none', 'deployed'])
  expect(layersOf([one, other]).map((layer) => cellOf(other, layer))).toEqual(['deployed', 'discovery', 'none'])
})
