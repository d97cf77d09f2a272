import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { addressOf, linkTo, readAddress, setTenant } from '../../../../internal/console/figures/address.js'

afterEach(() => setTenant(''))

/** As the browser reads it. */
const readHref = (href: string) => {
  const { pathname, search } = new URL(href, 'https://attribution.example')
  return readAddress(pathname, search)
}

test('an address names the tenant in its path, and is read as it was written', () => {
  const page = fc.constantFrom('', 'explorer', 'unattributed')
  const params = fc.dictionary(fc.constantFrom('period', 'filter[service][eq]', 'record'), fc.string())
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), page, params, (tenant, shown, stated) => {
      fc.pre(tenant !== '.' && tenant !== '..')
      setTenant(tenant)
      const read = readHref(addressOf(shown, new URLSearchParams(stated)))

      expect(read).toMatchObject({ tenant, page: shown })
      expect(Object.fromEntries(read.params)).toEqual(stated)
    }),
  )
})

test('links to other pages stay at the tenant', () => {
  setTenant('tnt_one')

  expect(linkTo('explorer', new URLSearchParams('period=7d&by=owner'))).toBe('/console/t/tnt_one/explorer?period=7d')
  expect(linkTo('', new URLSearchParams())).toBe('/console/t/tnt_one')
  expect(linkTo('', new URLSearchParams('zone=Asia/Kolkata'))).toBe('/console/t/tnt_one?zone=Asia/Kolkata')
})

test('an address of before tenants were in paths is the same page, and its tenant no parameter', () => {
  const { tenant, page, params } = readAddress('/console/explorer', '?tenant=tnt_one&sort=cost_usd')

  expect([tenant, page, params.toString()]).toEqual(['tnt_one', 'explorer', 'sort=cost_usd'])
  expect(readAddress('/console', '')).toMatchObject({ tenant: '', page: '' })
})

test('a tenant that is no valid text is taken as it is', () => {
  expect(readAddress('/console/t/%E0%A4%A/budgets', '')).toMatchObject({ tenant: '%E0%A4%A', page: 'budgets' })
})
