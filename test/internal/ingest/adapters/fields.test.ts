import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { idOf } from '../../../../internal/ingest/adapters/fields.js'
import { NAME } from '../../../../internal/invocations/invocation-schema.js'

const LONG = `resp_${'bGl0ZWxsbTpjdXN0b21fbGxt'.repeat(16)}==`
const hashOf = (id: string): string => `sha256:${createHash('sha256').update(id).digest('hex')}`

test('an id is the first that names something', () => {
  expect(idOf(undefined, 7, '', 'None', ' chatcmpl-1 ', 'chatcmpl-2')).toBe('chatcmpl-1')
  expect(idOf('a\u0000b', null)).toBeUndefined()
})

test('an id that is too long for an event becomes its hash, the same for everybody who states it', () => {
  expect(LONG.length).toBe(391)
  expect(idOf(LONG)).toBe(hashOf(LONG))
  expect(idOf(undefined, `${LONG} `)).toBe(hashOf(LONG))
  expect(idOf(LONG)).not.toBe(idOf(`${LONG}=`))
  expect(NAME.safeParse(idOf(LONG)).success).toBe(true)
})

test('an id of exactly 256 bytes stays, one byte more is hashed, and a text of many kilobytes is none', () => {
  const id = 'x'.repeat(254)
  expect(idOf(`${id}é`)).toBe(`${id}é`)
  expect(idOf(`${id}xé`)).toBe(hashOf(`${id}xé`))
  expect(idOf('x'.repeat(16_385))).toBeUndefined()
  expect(idOf(`${'x'.repeat(300)}\n`, `${'x'.repeat(300)}\ny`)).toBe(hashOf('x'.repeat(300)))
})
