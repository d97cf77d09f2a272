import type { z } from 'zod'
import type { IdPrefix } from '../../ids/ids.js'
import type { ErrorCode } from '../../problems/problem-catalogue.js'
import { idInPath } from '../../text/answer-fields.js'
import { json, type Operation, type Parameters, type ReplyStatus, type Tag } from '../contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../contract/page.js'

/** What a resource promises its callers: data, from which its OpenAPI operations are made. */
export interface ResourceContract<Fields, Changes> {
  /** Path of the collection. */
  readonly path: string
  readonly prefix: IdPrefix
  readonly tag: Tag
  /** As operation ids have it: `ModelName`. */
  readonly word: string
  readonly plural: string
  /** How the collection is sorted: `newest first`. */
  readonly order: string
  /** Query parameters of the collection beside `limit` and `cursor`. */
  readonly filters?: Parameters
  /** In wire form. */
  readonly record: z.ZodType
  /** Body of a POST. */
  readonly fields: z.ZodType<Fields>
  /** Body of a PATCH. */
  readonly changes?: z.ZodType<Changes>
  readonly example: { readonly record: object; readonly fields: object; readonly changes?: object }
  readonly descriptions?: { readonly [verb in 'list' | 'create' | 'update' | 'delete']?: string }
  /** Problems of `refuse`, beside the 409 of every POST. */
  readonly problems?: { readonly [verb in 'create' | 'update']?: readonly ErrorCode[] }
}

type Named = Pick<ResourceContract<never, never>, 'word' | 'plural'>

/** In a sentence: `model name`. */
export const nounOf = ({ word }: Named): string => spaced(word)
export const nounsOf = ({ plural }: Named): string => spaced(plural)
const spaced = (word: string): string => word.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase()

/** One operation per verb. Immutable resources ignore `update`. */
export function resourceOperations<F, C>(kind: ResourceContract<F, C>) {
  const { prefix, tag, word, plural, order, filters, record, example, descriptions = {}, problems = {} } = kind
  const [noun, nouns] = [nounOf(kind), nounsOf(kind)]
  const one = `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
  const parameters = { id: idInPath(prefix, `Id of the ${noun}.`) }
  const shown = (status: ReplyStatus, description: string) => ({
    replies: { [status]: { description, contents: json(record, example.record) } },
  })
  const described = (description: string | undefined) => description !== undefined && { description }
  return {
    list: {
      id: `list${plural}`,
      tag,
      summary: `List ${nouns}, ${order}`,
      ...described(descriptions.list),
      query: { ...PAGE_PARAMETERS, ...filters },
      replies: {
        200: {
          description: `A page of ${nouns}.`,
          contents: json(pageOf(record), { data: [example.record], page: { limit: 50, has_more: false } }),
        },
      },
    },
    get: { id: `get${word}`, tag, summary: `Get ${one}`, parameters, ...shown(200, `The ${noun}.`) },
    create: {
      id: `create${word}`,
      tag,
      summary: `Add ${one}`,
      ...described(descriptions.create),
      problems: ['CONFLICT', ...(problems.create ?? [])],
      ...shown(201, 'Created.'),
    },
    update: {
      id: `update${word}`,
      tag,
      summary: `Update ${one}`,
      description: ['Omitted fields are unchanged.', descriptions.update].filter(Boolean).join(' '),
      parameters,
      ...(problems.update && { problems: problems.update }),
      ...shown(200, `The updated ${noun}.`),
    },
    delete: {
      id: `delete${word}`,
      tag,
      summary: `Delete ${one}`,
      ...described(descriptions.delete),
      parameters,
      replies: { 204: { description: 'Deleted.' } },
    },
  } satisfies Record<string, Operation>
}
