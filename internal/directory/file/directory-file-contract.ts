import { z } from 'zod'
import type { Operation } from '../../http/contract/operation.js'
import { json } from '../../http/contract/operation.js'
import { count, exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { DIRECTORY_KINDS, identityFields, principalFields, serviceFields, sourceFields } from '../entries.js'
import { REPORTED_MAX } from './directory-file-job.js'

/** The contract of importing and exporting the directory as a file. */

export const IMPORT_PATH = '/api/v1/directory/import'
export const IMPORTS_PATH = '/api/v1/directory/imports'
export const EXPORT_PATH = '/api/v1/directory/export'
export const FILE_BYTES_MAX = 16 * 1024 * 1024

const place = {
  line: z.int().nullable().meta({ description: 'Of a CSV file, from 1.' }),
  pointer: z.string().nullable().meta({ description: 'Into a JSON document.' }),
}
const change = z.object({
  kind: z.enum(DIRECTORY_KINDS),
  ...place,
  id: z.string().meta({ description: 'Id of the entry.' }),
  name: z.string(),
})

const report = {
  adds: count(),
  changes: count(),
  removals: count().meta({ description: 'Entries of the kinds in the file that it does not name.' }),
  refusals: count().meta({
    description: 'Lines that are no entry, or conflict with others. The entry of that name stays.',
  }),
  unchanged: count(),
  added: z.array(change).meta({ description: `The first ${REPORTED_MAX}, as of the other lists.` }),
  changed: z.array(change),
  removed: z.array(change),
  refused: z.array(z.object({ kind: z.enum(DIRECTORY_KINDS).nullable(), ...place, reason: z.string() })),
}

const fieldChange = z.object({ field: z.string(), before: z.string(), after: z.string() })
const dryRun = z
  .object({
    dry_run: z.literal(true),
    ...report,
    changed: z.array(
      change.extend({
        fields: z.array(fieldChange).meta({ description: 'What differs, as in a CSV file; empty: not stated.' }),
      }),
    ),
    needs_allow_removals: z.boolean().meta({ description: 'Whether the import is refused without `allow_removals`.' }),
  })
  .meta({ id: 'DirectoryDryRun' })
const job = z
  .object({
    id: idOf('dim'),
    dry_run: z.literal(false),
    status: z.enum(['running', 'done', 'interrupted']).meta({
      description: '`interrupted`: the process died. Import the file again: what is done already is unchanged then.',
    }),
    created_at: timeText(),
    applied: count().meta({ description: 'Adds, changes and removals made so far.' }),
    ...report,
  })
  .meta({ id: 'DirectoryImport' })

const EXAMPLE_REPORT = {
  adds: 1,
  changes: 0,
  removals: 0,
  refusals: 1,
  unchanged: 812,
  added: [{ kind: 'identities', line: 2, pointer: null, id: exampleId('idn'), name: 'ada@example.com' }],
  changed: [],
  removed: [],
  refused: [{ kind: 'services', line: 14, pointer: null, reason: 'owner: is required' }],
}
const EXAMPLE_JOB = {
  id: exampleId('dim'),
  dry_run: false,
  status: 'done',
  created_at: '2026-11-21T09:30:00.000Z',
  applied: 1,
  ...EXAMPLE_REPORT,
}

/** Lines are checked one by one, and refused one by one: here the schema only describes them. */
const file = z
  .strictObject({
    services: z.array(serviceFields).optional(),
    identities: z.array(identityFields).optional(),
    principals: z.array(principalFields).optional(),
    sources: z.array(sourceFields).optional(),
  })
  .meta({ id: 'DirectoryFile' })

const entries = () => z.array(z.looseObject({}))
const exported = z.object({
  services: entries(),
  identities: entries(),
  principals: entries(),
  sources: entries(),
})

const flag = (description: string) => z.enum(['true', 'false']).optional().meta({ description })

export const IMPORT_DIRECTORY: Operation = {
  id: 'importDirectory',
  tag: 'Directory',
  summary: 'Import the directory from a file',
  description:
    'The file is the whole of each kind (services, identities, principals, sources) that it has entries of: others ' +
    'of the kind are removed. As CSV, the columns `kind` and `name` are required; `owner`, `service`, `aliases` ' +
    '(separated by `;`), `changes` (JSON), `is_workload`, `exclusive`, `pathway` and `is_discovery_only` may be ' +
    'there. A line that is wrong is refused alone. Removals need a sign-in of the last 15 minutes where a person ' +
    'acts, and `allow_removals` where they are more than a tenth of the entries of these kinds. At most 16 MiB.',
  query: {
    dry_run: flag('Only report what would change. Default: false.'),
    keep_missing: flag('Entries that the file does not have stay. Default: false.'),
    allow_removals: flag('Remove more than a tenth of what is there. Default: false.'),
  },
  body: {
    contents: {
      ...json(file, { identities: [{ name: 'ada@example.com', owner: 'team-support' }] }),
      'text/csv': { schema: z.string(), example: 'kind,name,owner\r\nidentities,ada@example.com,team-support\r\n' },
    },
  },
  problems: ['CONFLICT', 'STEP_UP_REQUIRED', 'RATE_LIMITED'],
  replies: {
    200: {
      description: 'The result of a dry run, or the import, which is done.',
      contents: json(z.union([job, dryRun]), EXAMPLE_JOB),
    },
    202: {
      description: 'The import is running. `GET` of its id shows how far it is.',
      contents: json(job, { ...EXAMPLE_JOB, status: 'running', applied: 0 }),
    },
  },
}

export const GET_IMPORT: Operation = {
  id: 'getDirectoryImport',
  tag: 'Directory',
  summary: 'Get the status of an import',
  description: 'Kept for 24 hours.',
  parameters: { id: idInPath('dim', 'Id of the import.') },
  replies: { 200: { description: 'The import.', contents: json(job, EXAMPLE_JOB) } },
}

export const EXPORT_DIRECTORY: Operation = {
  id: 'exportDirectory',
  tag: 'Directory',
  summary: 'Export the directory as a file',
  description: 'In the form that an import reads: to import it changes nothing.',
  query: { format: z.enum(['json', 'csv']).optional().meta({ description: 'Default: json.' }) },
  replies: {
    200: {
      description: 'The file.',
      contents: { ...json(exported), 'text/csv': { schema: z.string() } },
    },
  },
}
