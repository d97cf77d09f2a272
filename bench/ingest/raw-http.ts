import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { TRACE_ID_LENGTH, UUID_LENGTH } from './requests.js'

/** @param file of requests, see requests.ts @returns what makes the next whole request, in latin1 */
export function requestsOf(file: string): () => string {
  const [head = '', ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n')
  const templates = lines.map((line) => {
    const [before = '', between = '', after = ''] = line.split('\t')
    const length = before.length + UUID_LENGTH + between.length + TRACE_ID_LENGTH + after.length
    return {
      head: `${head.replaceAll('\t', '\r\n')}\r\nContent-Length: ${length}\r\nIdempotency-Key: `,
      before,
      between,
      after,
    }
  })
  let made = 0
  let traceId = ''
  return () => {
    const template = templates[made % templates.length]
    if (template === undefined) throw new Error('the file of requests is empty')
    if (made++ % 4 === 0) traceId = randomBytes(16).toString('hex')
    const { head, before, between, after } = template
    // randomUUID draws from a pool of random bytes and costs a tenth of a microsecond.
    return `${head}${randomUUID()}\r\n\r\n${before}${randomUUID()}${between}${traceId}${after}`
  }
}

/** Where the answer ends, or undefined when its end has not come yet. */
export function answerEnd(text: string): number | undefined {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, headEnd))?.[1]
  const end = headEnd + 4 + Number(length ?? 0)
  return text.length >= end ? end : undefined
}
