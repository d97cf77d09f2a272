import { expect, test } from 'vitest'
import { byCredentialId } from '../../../internal/filters/credentials.js'
import type { Condition } from '../../../internal/filters/parse.js'

const NAMES = new Map([
  ['key_1', 'checkout'],
  ['key_2', 'search'],
  ['key_3', 'checkout'],
])
const byId = (...conditions: Condition[]) => byCredentialId(conditions, () => NAMES)
const credential = (operator: Condition['operator'], ...values: string[]): Condition => ({
  field: 'credential',
  operator,
  values,
})

test('a credential is selected by its name, with every one of that name, or by its id', () => {
  expect(byId(credential('eq', 'checkout'))).toEqual([credential('in', 'checkout', 'key_1', 'key_3')])
  expect(byId(credential('in', 'key_2', 'checkout'))).toEqual([credential('in', 'key_2', 'checkout', 'key_1', 'key_3')])
  expect(byId(credential('ne', 'search'))).toEqual([credential('ne', 'search'), credential('ne', 'key_2')])
})

test('other conditions stay as they are', () => {
  const service: Condition = { field: 'service', operator: 'eq', values: ['checkout'] }

  expect(byId(service)).toEqual([service])
})
