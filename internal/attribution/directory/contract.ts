import { z } from 'zod'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { idInPath } from '../../text/answer-fields.js'
import type { DirectoryKind } from './entries.js'
import { ENTRY_PREFIXES } from './entry-index.js'
import type { EntryKind } from './kinds.js'

/** What the routes of a kind of entry promise. */
export interface DirectoryOperations {
  readonly list: Operation
  readonly get: Operation
  readonly create: Operation
  readonly update: Operation
  readonly delete: Operation
}

export function directoryOperations<K extends DirectoryKind, F, C>(kind: EntryKind<K, F, C>): DirectoryOperations {
  const { word, plural, description, nameField, record, example } = kind
  const one = word.toLowerCase()
  const tag = 'Directory'
  const parameters = { id: idInPath(ENTRY_PREFIXES[kind.kind], `id of the ${one}.`) }
  const shown = json(record, example.record)
  return {
    list: {
      id: `list${plural}`,
      tag,
      summary: `${plural} of the directory, by name`,
      description,
      query: {
        ...PAGE_PARAMETERS,
        [nameField]: z.string().optional().meta({ description: 'Only the one of that name.' }),
      },
      replies: {
        200: {
          description: 'A page.',
          contents: json(pageOf(record), { data: [example.record], page: { limit: 50, has_more: false } }),
        },
      },
    },
    get: {
      id: `get${word}`,
      tag,
      summary: `One ${one} of the directory`,
      parameters,
      replies: { 200: { description: `The ${one}.`, contents: shown } },
    },
    create: {
      id: `create${word}`,
      tag,
      summary: `Tell of a ${one}`,
      description: `${description} Events that are attributed from now on are attributed by it.`,
      problems: ['CONFLICT', ...kind.refusals],
      replies: { 201: { description: 'It is in the directory.', contents: shown } },
    },
    update: {
      id: `update${word}`,
      tag,
      summary: `Change what is known of a ${one}`,
      description: `What the body does not name stays; \`null\` takes away what may be absent. \`${nameField}\` never changes.`,
      parameters,
      problems: ['CONFLICT'],
      replies: { 200: { description: `The ${one} as it is now.`, contents: shown } },
    },
    delete: {
      id: `delete${word}`,
      tag,
      summary: `Forget a ${one}`,
      description: 'Records that exist stay as they are.',
      parameters,
      replies: { 204: { description: 'It is not in the directory any more.' } },
    },
  }
}
