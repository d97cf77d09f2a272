import { expect, test } from 'vitest'
import { partiesOf } from '../../../../internal/access/oauth/issue-token.js'
import { isForSandbox } from '../../../../internal/console/figures/sandbox.js'

const tokenFor = (audience: string): string =>
  ['header', Buffer.from(JSON.stringify({ aud: audience, sub: 'Ærø ~' })).toString('base64url'), 'signature'].join('.')

test('a token says whether it is for a sandbox, by the audience that the service gives', () => {
  const audienceIn = (mode: 'sandbox' | 'production') => partiesOf(mode, 'https://attribution.example').audience

  expect(isForSandbox(tokenFor(audienceIn('sandbox')))).toBe(true)
  expect(isForSandbox(tokenFor(audienceIn('production')))).toBe(false)
  expect(isForSandbox('')).toBe(false)
})
