import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseInstant } from '../../units/instant.js'

/** One request of a recorded trace: its time, and its input and output tokens. */
export interface TraceRow {
  readonly rowId: string
  readonly arrivedAtMs: number
  readonly kind: string
  readonly inputTokens: number
  readonly outputTokens: number
}

/** An absent count is not zero. */
const TOKENS = /^\d{1,15}$/
const HEADER = 'row_id,timestamp,kind,input_tokens,output_tokens'

/** Reads a trace file in the order of its rows; bench/data/README.md describes the columns. */
export function readTrace(file: string): TraceRow[] {
  const [header, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n')
  if (header !== HEADER) throw new Error(`${file} is not a trace: its first line must be ${HEADER}`)
  return lines.map((line, i) => {
    const [rowId = '', timestamp = '', kind = '', input = '', output = ''] = line.split(',')
    const arrivedAtMs = parseInstant(timestamp)
    const [inputTokens, outputTokens] = [Number(input), Number(output)]
    if (arrivedAtMs === undefined || !TOKENS.test(input) || !TOKENS.test(output)) {
      throw new Error(`${file}, line ${i + 2}, is not a row of a trace`)
    }
    return { rowId, arrivedAtMs, kind, inputTokens, outputTokens }
  })
}

/** The trace's own namespace for event ids: every replay with it sends the same events. */
export const FIXED_EVENT_IDS = '30b7bb89-7b8c-5f47-b52b-2fd47c9baf5b'

/** UUIDv5 (RFC 9562) of a name in a namespace. */
export function uuidV5(namespace: string, name: string): string {
  const hash = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(name)
    .digest()
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80
  const hex = hash.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}
