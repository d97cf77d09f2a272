import { expect, test } from 'vitest'
import { disputeBody, overrideBody } from '../../../../internal/attribution/changes/contract.js'
import { readBody } from '../../../../internal/http/mutations/read-body.js'

const OVERRIDE = { service: 'search', owner: 'team-search', reason: 'It was theirs.' }
const bytesOf = (body: object): Buffer => Buffer.from(JSON.stringify(body))

test('unknown fields of an override or dispute are ignored', () => {
  const read = readBody(bytesOf({ ...OVERRIDE, ticket: 'SEC-1', nested: { of: ['any', 'kind'] } }), {
    schema: overrideBody,
  })

  expect(read).toEqual({ ok: true, body: OVERRIDE })
  expect(readBody(bytesOf({ reason: 'Not ours.', service: 'search' }), { schema: disputeBody })).toEqual({
    ok: true,
    body: { reason: 'Not ours.' },
  })
})

test.each(['prompt', 'messages', 'completion', 'systemPrompt'])(
  'prompt content in an override is rejected and never echoed: %s',
  (key) => {
    for (const body of [{ [key]: 'the fox' }, { nested: [{ [key]: 'the fox' }] }]) {
      const read = readBody(bytesOf({ ...OVERRIDE, ...body }), { schema: overrideBody })

      expect(read).toMatchObject({ ok: false, problem: { code: 'VALIDATION_FAILED' } })
      expect(JSON.stringify(read)).not.toContain('fox')
    }
  },
)
