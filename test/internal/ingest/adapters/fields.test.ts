import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { callerTags, idOf, nameOf, tagsOf } from '../../../../internal/ingest/adapters/fields.js'
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

test('what programs put on a request is no tag, and the user agent is one under one name', () => {
  const written = { feature: 'chat', host_team: 'core', via_queue: 'yes', cost_center: '12' }
  const noise = {
    ...{
      Host: 'api',
      accept: '*/*',
      'Content-Type': 'application/json',
      traceparent: '00-a-b-01',
      'X-Request-Id': '7',
    },
    ...{
      'x-stainless-lang': 'js',
      'X-Forwarded-For': '10.0.0.1',
      'sec-fetch-mode': 'cors',
      'x-amzn-trace-id': 'Root=1',
    },
  }
  const tags = Object.fromEntries(Object.entries(written).map(([key, value]) => [`caller.${key}`, value]))
  for (const agent of ['user-agent', 'User-Agent', 'user_agent', 'userAgent', 'user_agent.original']) {
    const pairs = Object.entries({ ...noise, [agent]: 'curl/8', ...written })
    expect(tagsOf(callerTags(pairs)), agent).toEqual({ ...tags, 'caller.user-agent': 'curl/8' })
  }
})

test('a control character within a name costs no name; a text of several lines is none', () => {
  expect([nameOf('gpt-4o\u0000'), nameOf('gpt\u0007-4o'), nameOf('a text\nof two lines')]).toEqual([
    'gpt-4o',
    'gpt-4o',
    undefined,
  ])
})
