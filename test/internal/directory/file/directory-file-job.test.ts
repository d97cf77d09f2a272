import { expect, test } from 'vitest'
import { serviceEntry } from '../../../../internal/directory/entries.js'
import { dryRunOf, isLargeRemoval } from '../../../../internal/directory/file/directory-file-job.js'
import { deriveTenantIds } from '../../../../internal/ids/ids.js'

const IDS = deriveTenantIds(new Uint8Array(32), 'tnt_one')
const at = { line: 2, pointer: null, kind: 'services' as const, name: 'search' }
const removal = { ...at, before: serviceEntry({ name: 'search', owner: 'x' }), after: undefined }

test('a dry run says what differs in an entry, as a CSV file has it', () => {
  const change = {
    ...at,
    before: serviceEntry({ name: 'search', owner: 'team-old' }),
    after: serviceEntry({ name: 'search', owner: 'team-new', aliases: ['find', 'seek'] }),
  }
  const plan = { adds: [], changes: [change], removals: [], refusals: [], unchanged: 0, there: 1 }

  expect(dryRunOf(plan, IDS)).toMatchObject({
    dry_run: true,
    needs_allow_removals: false,
    changed: [
      {
        name: 'search',
        fields: [
          { field: 'owner', before: 'team-old', after: 'team-new' },
          { field: 'aliases', before: '', after: 'find;seek' },
        ],
      },
    ],
  })
})

test('removing more than a tenth of what is there is large, and a tenth is not', () => {
  expect(isLargeRemoval({ removals: [removal], there: 10 })).toBe(false)
  expect(isLargeRemoval({ removals: [removal, removal], there: 19 })).toBe(true)
})
