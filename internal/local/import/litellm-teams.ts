import { boundedFetch } from '../../outbound/bounded-answer.js'

/**
 * The teams of a LiteLLM proxy as identities of the directory. LiteLLM names who calls by the address of a user, else
 * by its id (`ingest/adapters/litellm.ts`): both are identities here.
 */

export interface Member {
  readonly name: string
  readonly team: string
}

/** What is read of `GET /team/list`; all else is passed over. */
interface Team {
  readonly team_id?: unknown
  readonly team_alias?: unknown
  readonly members_with_roles?: unknown
}

const fetchTeams = boundedFetch({ bytesMax: 64 * 1024 * 1024, msMax: 30_000 })

/** @throws Error that names the status, never the key or the answer */
export async function readTeams(litellmUrl: string, key: string): Promise<readonly Member[]> {
  const answer = await fetchTeams(new URL('team/list', litellmUrl.endsWith('/') ? litellmUrl : `${litellmUrl}/`), {
    headers: { authorization: `Bearer ${key}`, accept: 'application/json' },
  })
  if (!answer.ok) throw new Error(`LiteLLM answered ${answer.status} to GET /team/list`)
  const teams: unknown = await answer.json().catch(() => undefined)
  if (!Array.isArray(teams)) throw new Error('LiteLLM answered no list to GET /team/list')
  return membersOf(teams as readonly Team[])
}

/** A user of several teams belongs to the first by name: the directory knows one team of an identity. */
export function membersOf(teams: readonly Team[]): readonly Member[] {
  const teamOf = new Map<string, string>()
  const named = teams
    .map(({ team_alias, team_id, members_with_roles }) => {
      return { team: textOf(team_alias) ?? textOf(team_id), members: members_with_roles }
    })
    .filter((each): each is { team: string; members: unknown } => each.team !== undefined)
    .sort((one, other) => (one.team < other.team ? -1 : one.team > other.team ? 1 : 0))
  for (const { team, members } of named) {
    for (const member of Array.isArray(members) ? (members as readonly Readonly<Record<string, unknown>>[]) : []) {
      for (const name of [textOf(member['user_email']), textOf(member['user_id'])]) {
        if (name !== undefined && name !== DEFAULT_USER && !teamOf.has(name)) teamOf.set(name, team)
      }
    }
  }
  return [...teamOf].map(([name, team]) => ({ name, team }))
}

/** LiteLLM's own administrator, and everybody who calls with its master key. */
const DEFAULT_USER = 'default_user_id'

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined

/**
 * A file of these members, to be imported beside what is there.
 *
 * @param exported the directory's own file: what it says besides of an identity stays
 */
export function membersAsFile(members: readonly Member[], exported: string): string {
  const { identities } = JSON.parse(exported) as { readonly identities: readonly { readonly name: string }[] }
  const known = new Map(identities.map((identity) => [identity.name, identity]))
  return JSON.stringify({ identities: members.map(({ name, team }) => ({ ...known.get(name), name, owner: team })) })
}
