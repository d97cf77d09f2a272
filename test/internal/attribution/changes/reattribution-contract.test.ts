import { expect, test } from 'vitest'
import { disputeBody, overrideBody } from '../../../../internal/attribution/changes/reattribution-contract.js'
import { readBody } from '../../../../internal/http/mutations/read-body.js'

const OVERRIDE = { service: 'search', owner: 'team-search', reason: 'It was theirs.' }
const bytesOf = (body: object): Buffer => Buffer.from(JSON.stringify(body))

test('unknown members of an override or dispute are rejected by name', () => {
  const read = readBody(bytesOf({ ...OVERRIDE, ticket: 'SEC-1' }), { schema: overrideBody })
  const dispute = readBody(bytesOf({ reason: 'Not ours.', service: 'search' }), { schema: disputeBody })

  const errors = (pointer: string) => ({ errors: [{ pointer, detail: 'is unknown or read-only' }] })
  expect(read).toMatchObject({ ok: false, problem: { code: 'VALIDATION_FAILED', ...errors('/ticket') } })
  expect(dispute).toMatchObject({ ok: false, problem: errors('/service') })
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
