import { expect, test } from 'vitest'
import type { StoredUser } from '../../../../internal/access/oauth/users.js'
import { prepareLeaving } from '../../../../internal/access/users/leaving.js'
import type { Caller } from '../../../../internal/auth/authenticate.js'
import type { Tenant } from '../../../../internal/auth/tenant.js'
import { unescapeToken } from '../../../../streams/subjects.js'

const NOW_MS = 1_800_000_000_000

/** A tenant whose owners are named as their ids are. */
function tenantOf(...owners: readonly string[]) {
  let tenant = { owners } as Tenant
  const person = (name: string) => ({ id: name, username: name, tenant_id: 't' }) as StoredUser
  const prepare = prepareLeaving({
    tenants: {
      read: async () => tenant,
      async change(_, change) {
        tenant = change(tenant) ?? tenant
        return tenant
      },
    },
    findUser: person,
    users: { get: (key) => person(unescapeToken(key.slice('t.'.length))) },
    clock: () => NOW_MS,
  })
  return {
    owners: () => tenant.owners,
    as: (principal: string, names: readonly string[], isEnded = true, authTimeS: number | undefined = NOW_MS / 1_000) =>
      prepare({ tenantId: 't', principal, authTimeS } as Caller, names, isEnded).then((refusal) => refusal?.code),
  }
}

test.each([true, false])('nobody but an owner ends or renames one, in whatever spelling: ended %s', async (isEnded) => {
  const tenant = tenantOf('ada', 'bob')

  expect(await tenant.as('key_1', ['other', ' ADA'], isEnded)).toBe('INSUFFICIENT_SCOPE')
  expect(await tenant.as('eve', ['ada'], isEnded)).toBe('INSUFFICIENT_SCOPE')
  expect(await tenant.as('bob', ['ada'], isEnded, NOW_MS / 1_000 - 3_600)).toBe('STEP_UP_REQUIRED')
  expect(tenant.owners()).toEqual(['ada', 'bob'])
  expect(await tenant.as('key_1', ['carl'], isEnded)).toBeUndefined()
})

test('an owner who has left is none, and the last one stays', async () => {
  const tenant = tenantOf('ada', 'bob')

  expect(await tenant.as('bob', ['ada'], false)).toBeUndefined()
  expect(tenant.owners()).toEqual(['ada', 'bob'])
  expect(await tenant.as('bob', ['ada'])).toBeUndefined()
  expect(tenant.owners()).toEqual(['bob'])
  expect(await tenant.as('bob', ['bob'])).toBe('CONFLICT')
})
