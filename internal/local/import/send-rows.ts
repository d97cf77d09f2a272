import type { HttpServiceClient } from '../replay/client.js'

/** What came of the rows, added up over all requests. */
export interface ImportSummary {
  received: number
  accepted: number
  duplicates: number
  skipped: Record<string, number>
  rejected: number
  /** The first ones: number of the row, from 1, and what is wrong with it. */
  rejections: { row: number; errors: readonly { pointer: string; detail: string }[] }[]
}

type Report = Omit<ImportSummary, 'rejections'> & {
  readonly rejections?: readonly { index: number; errors: readonly { pointer: string; detail: string }[] }[]
}

const ROWS_PER_REQUEST = 500
const REJECTIONS_MAX = 20

/**
 * Sends payloads to a source's route of the intake port, in batches. An import that was interrupted can be repeated:
 * what is there already is counted as duplicates.
 *
 * @throws Error when the service refuses a whole batch, such as for its credential
 */
export async function sendPayloads(
  payloads: AsyncIterable<unknown>,
  path: string,
  { post }: Pick<HttpServiceClient, 'post'>,
  onProgress: (rows: number) => void = () => undefined,
): Promise<ImportSummary> {
  const sum: ImportSummary = { received: 0, accepted: 0, duplicates: 0, skipped: {}, rejected: 0, rejections: [] }
  let batch: string[] = []
  const flush = async (): Promise<void> => {
    if (batch.length === 0) return
    const { status, body } = await post(path, 'application/x-ndjson', batch.join('\n'))
    if (status !== 200) throw new Error(`a batch was refused (${status}): ${body}`)
    add(sum, JSON.parse(body) as Report)
    batch = []
    onProgress(sum.received)
  }
  for await (const payload of payloads) {
    batch.push(JSON.stringify(payload))
    if (batch.length === ROWS_PER_REQUEST) await flush()
  }
  await flush()
  return sum
}

function add(sum: ImportSummary, { received, accepted, duplicates, skipped, rejected, rejections = [] }: Report): void {
  for (const { index, errors } of rejections) {
    if (sum.rejections.length < REJECTIONS_MAX) sum.rejections.push({ row: sum.received + index + 1, errors })
  }
  sum.received += received
  sum.accepted += accepted
  sum.duplicates += duplicates
  sum.rejected += rejected
  for (const [reason, count] of Object.entries(skipped)) sum.skipped[reason] = (sum.skipped[reason] ?? 0) + count
}
