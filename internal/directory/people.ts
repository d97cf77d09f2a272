import type { Records } from '../broker/records.js'
import type { TenantIds } from '../ids/ids.js'
import type { IdentityEntry } from './directory.js'
import { ENTRIES_MAX } from './entries.js'
import { entryId } from './entry-index.js'
import { directoryKey } from './import-directory.js'
import type { OpenDirectory } from './open-directory.js'

/** What the directory knows of people who sign in: their names are those of its identities. */
export function directoryPeople({ records, entries }: OpenDirectory, idsOf: (tenantId: string) => TenantIds) {
  const identities = records as unknown as Records<IdentityEntry>
  const find = (tenantId: string, name: string): IdentityEntry | undefined =>
    entries.of(tenantId, 'identities').get(entryId('identities', name, idsOf(tenantId)))

  return {
    hasLeft: (tenantId: string, name: string): boolean => find(tenantId, name)?.inactive === true,

    /** Names the team of a person who has none. What SCIM, a file or the API has stated stays. */
    async setTeam(tenantId: string, name: string, team: string): Promise<void> {
      const known = find(tenantId, name)
      const isFull = entries.of(tenantId, 'identities').size >= ENTRIES_MAX.identities
      if (known?.owner !== undefined || (known === undefined && isFull)) return
      const key = directoryKey(tenantId, 'identities', name)
      const made = await identities.createOnce(key, { name, owner: team })
      if (made.owner !== undefined) return
      await identities.change(key, (entry) => (entry.owner === undefined ? { ...entry, owner: team } : undefined))
    },
  }
}
