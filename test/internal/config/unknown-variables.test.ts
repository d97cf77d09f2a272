import { expect, test } from 'vitest'
import { SETTINGS } from '../../../internal/config/settings.js'
import { unknownVariables } from '../../../internal/config/unknown-variables.js'

test('a variable that is no setting is named, with the nearest one', () => {
  expect(unknownVariables({ ATTRIBUTION_PROT: '1', ATTRIBUTION_NATS_URLS: '2', PATH: '/bin' })).toEqual([
    'unknown variable ATTRIBUTION_PROT is ignored; did you mean ATTRIBUTION_PORT?',
    'unknown variable ATTRIBUTION_NATS_URLS is ignored; did you mean ATTRIBUTION_NATS_URL?',
  ])
  expect(unknownVariables({ ATTRIBUTION_SOMETHING_ELSE_ENTIRELY: '1' })).toEqual([
    'unknown variable ATTRIBUTION_SOMETHING_ELSE_ENTIRELY is ignored',
  ])
})

test('no setting is unknown; one of tuning names what takes its place', () => {
  const [tuned, others] = [true, false].map((isTuning) =>
    Object.values(SETTINGS).filter((setting) => 'isTuning' in setting === isTuning),
  )
  const warnings = (settings = others) =>
    unknownVariables(Object.fromEntries(settings?.map(({ variable }) => [variable, '']) ?? []))

  expect(warnings()).toEqual([])
  expect(unknownVariables({ ATTRIBUTION_TUNING: '' })).toEqual([])
  expect(warnings(tuned)).toHaveLength(tuned?.length ?? 0)
  expect(warnings(tuned)).toContain(
    'unknown variable ATTRIBUTION_SPOOL_BYTES_MAX is ignored; did you mean ATTRIBUTION_TUNING=spool-bytes-max=…?',
  )
})
