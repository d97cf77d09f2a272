import { describe, expect, test } from 'vitest'
import { isRestricted, refusalOfCrossing, thisInstance } from '../../../internal/residency/residency.js'

const HOME = 'eu-central-1'

describe('data that is taken out', () => {
  test('of a tenant without a region may go anywhere', () => {
    expect(refusalOfCrossing(null, [thisInstance('us-east-1'), { name: 'the lane', region: null }])).toBeUndefined()
  })

  test('may go through and to the tenant’s region', () => {
    expect(refusalOfCrossing(HOME, [thisInstance(HOME), { name: 'the lane', region: 'EU-Central-1 ' }])).toBeUndefined()
  })

  test.each([
    ['another region', 'us-east-1', "The tenant's data stays in eu-central-1; this instance is in us-east-1."],
    ['a name that only resembles it', 'eu', "The tenant's data stays in eu-central-1; this instance is in eu."],
    ['a place that nobody has located', null, "The tenant's data stays in eu-central-1; this instance has no region."],
  ])('may not go to %s', (_, region, detail) => {
    expect(refusalOfCrossing(HOME, [thisInstance(region)])).toMatchObject({ code: 'RESIDENCY_BLOCKED', detail })
  })

  test('may not leave on its way, wherever it goes', () => {
    const lane = { name: "the connector's lane", region: 'us-east-1' }

    expect(refusalOfCrossing(HOME, [thisInstance(HOME), lane])).toMatchObject({ code: 'RESIDENCY_BLOCKED' })
    expect(refusalOfCrossing(HOME, [lane, thisInstance(HOME)])).toMatchObject({ code: 'RESIDENCY_BLOCKED' })
  })
})

describe('the record of a call', () => {
  test.each([
    [null, 'us-east-1', false],
    [null, undefined, false],
    [HOME, undefined, false],
    [HOME, 'eu-central-1', false],
    [HOME, ' EU-CENTRAL-1', false],
    [HOME, 'us-east-1', true],
    [HOME, 'eu-central-10', true],
    ['eu', 'eu-west-2', true],
  ])('of a tenant in %s, made in %s, is restricted: %s', (home, stated, expected) => {
    expect(isRestricted(home, stated)).toBe(expected)
  })
})
