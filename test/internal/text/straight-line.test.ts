import { expect, test } from 'vitest'
import { camelCase, objectText, straightLine } from '../../../internal/text/straight-line.js'

test('a function built from source text sees its parameters and the values of its scope', () => {
  const shout = straightLine<(word: string) => object>(['word'], `return ${objectText([['loud', 'word + mark']])}`, {
    mark: '!',
  })

  expect(shout('no')).toEqual({ loud: 'no!' })
})

test('a snake_case name becomes camelCase, digits kept', () => {
  expect(['id', 'carbon_gco2e', 'k8s_namespace', 'cache_write_ttl_seconds'].map(camelCase)).toEqual([
    'id',
    'carbonGco2e',
    'k8sNamespace',
    'cacheWriteTtlSeconds',
  ])
})
