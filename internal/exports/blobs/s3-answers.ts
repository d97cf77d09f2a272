import type { Readable } from 'node:stream'
import type { S3Client } from '@aws-sdk/client-s3'
import { AnswerTooLong, readAnswer } from '../../outbound/bounded-answer.js'

/** Of a connection to a bucket: how long it may take to be made, and to say nothing. */
export const PATIENCE = { connectionTimeout: 10_000, socketTimeout: 60_000 } as const

/** Errors have some 2 KiB; parsing takes a time that grows with the square. */
const ANSWER_BYTES_MAX = 16 * 1024
/** A thousand keys of the longest kind, each escaped as XML, are shorter. */
const LIST_BYTES_MAX = 8 * 1024 * 1024
const LISTS: readonly unknown[] = ['ListObjectsV2Command', 'DeleteObjectsCommand']
/** Completing a large upload takes a store minutes, in which it sends white space. */
const ANSWER_MS_MAX = 5 * 60_000

/**
 * Bounds what is read of a bucket's answers, except the content of an object, which its reader takes in parts: the
 * library reads an answer whole and then parses it in one go. An error whose text is longer is known by its status.
 */
export function boundAnswers(client: S3Client): void {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const result = await next(args)
      const response = result.response as { readonly statusCode: number; body?: Readable | Uint8Array }
      const { commandName: command } = context
      const isError = response.statusCode >= 300
      if (!isError && command === 'GetObjectCommand') return result
      const bytesMax = !isError && LISTS.includes(command) ? LIST_BYTES_MAX : ANSWER_BYTES_MAX
      const limits = { bytesMax, msMax: ANSWER_MS_MAX }
      response.body = await readAnswer(response.body as Readable, limits).catch((cause: unknown) => {
        if (isError && cause instanceof AnswerTooLong) return new Uint8Array()
        throw cause
      })
      return result
    },
    // Next to the connection: what reads the answer sees a bounded one.
    { name: 'boundAnswers', step: 'deserialize', priority: 'low' },
  )
}
