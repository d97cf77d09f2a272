import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FORM_LIFE_S, openForm, type SignInForm, sealForm } from '../../../../internal/access/oauth/sign-in-form.js'
import { NOW_MS } from '../../../support/invocations.js'

const KEY = new Uint8Array(32).fill(3)
const FORM: SignInForm = {
  clientId: 'cli_one',
  redirectUri: 'https://client.example/callback',
  scopes: ['read:attribution'],
  state: 'what the client wants back & more',
  codeChallenge: 'c'.repeat(43),
}
const sealed = sealForm(KEY, FORM, 'browser', NOW_MS)

test('a sign-in form is accepted unchanged, from the same browser, until it expires', () => {
  expect(openForm(KEY, sealed, 'browser', NOW_MS + FORM_LIFE_S * 1_000 - 1)).toMatchObject(FORM)
  expect(openForm(KEY, sealed, 'browser', NOW_MS + FORM_LIFE_S * 1_000)).toBeUndefined()
  expect(openForm(KEY, sealed, 'another', NOW_MS)).toBeUndefined()
  expect(openForm(KEY, sealed, '', NOW_MS)).toBeUndefined()
  expect(openForm(new Uint8Array(32), sealed, 'browser', NOW_MS)).toBeUndefined()
})

test('a changed sign-in form is refused and never throws', () => {
  const changed = fc
    .tuple(fc.nat(sealed.length - 2), fc.nat(2), fc.string({ maxLength: 2 }))
    .map(([at, cut, inserted]) => sealed.slice(0, at) + inserted + sealed.slice(at + cut))

  fc.assert(
    fc.property(fc.oneof(changed, fc.string()), (text) => {
      fc.pre(text !== sealed)
      expect(openForm(KEY, text, 'browser', NOW_MS)).toBeUndefined()
    }),
  )
})
