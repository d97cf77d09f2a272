import { describe, expect, test } from 'vitest'
import {
  declaredTags,
  foldKey,
  isTagField,
  keyOfTagField,
  OTHER_VALUES,
  pairsOf,
  readPair,
  tagFieldOf,
} from '../../../internal/records/dimensions.js'

const declared = (...keys: readonly string[]) => keys.map((key) => ({ key }))

describe('the pairs of a record', () => {
  test('are one per declared key, in the order of the declaration; an event without the tag has an empty value', () => {
    const tags = { release: '7', env: 'production' }

    expect(pairsOf(declared('team', 'env'), tags)).toEqual(['team\t', 'env\tproduction'])
    expect(pairsOf(declared('team'), undefined)).toEqual(['team\t'])
    expect(pairsOf([], tags)).toEqual([])
  })

  test('find a key in other case; the declared spelling goes first, then the first one of the event', () => {
    expect(pairsOf(declared('Team'), { TEAM: 'a' })).toEqual(['team\ta'])
    expect(pairsOf(declared('team'), { TEAM: 'a', team: 'b' })).toEqual(['team\tb'])
    expect(pairsOf(declared('Team'), { ' team': 'a', team: 'b' })).toEqual(['team\ta'])
    expect(pairsOf(declared('caf\u00e9'), { 'CAFE\u0301': 'a' })).toEqual(['caf\u00e9\ta'])
  })

  test('keep values as they are, but for one that would read as not declared', () => {
    expect(pairsOf(declared('team'), { team: ' Pay=ments ' })).toEqual(['team\t Pay=ments '])
    expect(pairsOf(declared('team'), { team: '(not declared)' })).toEqual([`team\t${OTHER_VALUES}`])
  })

  test('take no member of an object for a tag', () => {
    expect(pairsOf(declared('constructor', '__proto__'), {})).toEqual(['constructor\t', '__proto__\t'])
  })

  test('are read as they were written', () => {
    expect(readPair('team\tpayments')).toEqual(['team', 'payments'])
    expect(readPair('team\t')).toEqual(['team', ''])
  })
})

describe('the declared tags of a record', () => {
  test('stand under the keys as declared: null without the tag, not declared where the record is older', () => {
    expect(declaredTags(declared('Team', 'env', 'feature'), ['team\tpayments', 'env\t'])).toEqual({
      Team: 'payments',
      env: null,
      feature: '(not declared)',
    })
  })

  test('show nothing of a key that is no longer declared, and it again when it is', () => {
    const pairs = pairsOf(declared('team', 'env'), { team: 'payments', env: 'staging' })

    expect(declaredTags(declared('env'), pairs)).toEqual({ env: 'staging' })
    expect(declaredTags(declared('region', 'env'), pairs)).toEqual({ region: '(not declared)', env: 'staging' })
    expect(declaredTags(declared('TEAM'), pairs)).toEqual({ TEAM: 'payments' })
    expect(declaredTags([], pairs)).toEqual({})
  })
})

test('a tag field is named by the folded key', () => {
  expect(tagFieldOf(' Team.Name')).toBe('tags.team.name')
  expect(keyOfTagField('tags.team.name')).toBe('team.name')
  expect([isTagField('tags.team'), isTagField('tags'), isTagField('trace_id')]).toEqual([true, false, false])
  expect(foldKey('CAFE\u0301')).toBe('caf\u00e9')
})
