import { expect, test } from 'vitest'
import { tenantMeant } from '../../../../internal/console/figures/tenants.js'

const KNOWN = { tnt_one: 'Acme Corp.', tnt_two: 'Bäcker & Söhne', tnt_three: 'Twice', tnt_four: 'twice' }

test.each([
  ['tnt_one', 'tnt_one'],
  ['Acme Corp.', 'tnt_one'],
  ['acme-corp', 'tnt_one'],
  ['bäcker-söhne', 'tnt_two'],
])('%s means %s', (text, id) => expect(tenantMeant(text, KNOWN)).toBe(id))

test.each(['tnt_five', 'acme', 'twice', '', 'toString'])('%s means none that is known, or more than one', (text) =>
  expect(tenantMeant(text, KNOWN)).toBe(text),
)
