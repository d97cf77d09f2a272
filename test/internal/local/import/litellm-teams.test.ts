import { expect, test } from 'vitest'
import { membersAsFile, membersOf } from '../../../../internal/local/import/litellm-teams.js'

const member = (user_id: unknown, user_email?: unknown) => ({ user_id, user_email, role: 'user' })

test('members of teams are identities by address and id; a team is named by its alias', () => {
  const teams = [
    { team_id: 't2', team_alias: 'search', members_with_roles: [member('u2', 'ada@example.com'), member('u1')] },
    { team_id: 't1', members_with_roles: [member('default_user_id'), member(' '), member('u3', 7)] },
    { team_alias: 'a-first', members_with_roles: [member('u1')] },
    { team_id: 't4', team_alias: 'empty', members_with_roles: null },
    { members_with_roles: [member('nobody')] },
  ]

  expect(membersOf(teams)).toEqual([
    { name: 'u1', team: 'a-first' },
    { name: 'ada@example.com', team: 'search' },
    { name: 'u2', team: 'search' },
    { name: 'u3', team: 't1' },
  ])
})

test('what the directory says besides of an identity stays', () => {
  const exported = JSON.stringify({ identities: [{ name: 'bot', owner: 'old', service: 'ci', is_workload: true }] })

  expect(
    JSON.parse(
      membersAsFile(
        [
          { name: 'bot', team: 'new' },
          { name: 'x', team: 'new' },
        ],
        exported,
      ),
    ),
  ).toEqual({
    identities: [
      { name: 'bot', owner: 'new', service: 'ci', is_workload: true },
      { name: 'x', owner: 'new' },
    ],
  })
})
