import { createHash } from 'node:crypto'
import { splitIntoGroups } from '../../invocations/invocation-group.js'

export interface NamedMessage {
  readonly id: string
  readonly data: Uint8Array
}

/**
 * The messages that carry a list, each small enough for every broker. They are JSON objects; a message with events is
 * an array. Each is named by its batch and a digest of its content: a repeated batch may have learned more, and then
 * makes another message.
 *
 * @param idPrefix of the message ids, which tells readers what a message holds
 * @param member of the object, which holds the list
 * @param source stage, partition and last sequence of the batch
 */
export function listMessages(
  idPrefix: string,
  member: string,
  source: string,
  items: readonly unknown[],
): NamedMessage[] {
  const [start, end] = [`{"${member}":[`, ']}']
  const texts = items.map((item) => JSON.stringify(item))
  return splitIntoGroups(texts, start.length + end.length).map((group) => {
    const data = Buffer.from(`${start}${group.join(',')}${end}`)
    const digest = createHash('sha256').update(data).digest('hex').slice(0, 16)
    return { id: `${idPrefix}${source}.${digest}`, data }
  })
}
