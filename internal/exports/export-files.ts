import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createGunzip, gzipSync } from 'node:zlib'
import type { FocusRowsQuestion } from '../store/queries/exports/focus-rows.js'
import type { Staged } from '../store/queries/exports/staged-groups.js'
import type { JobWork, StoredFile } from './export-job.js'
import { DAY_MS, startOfDay } from './export-request.js'
import { AT_ONCE, byMonth, type ExportRun, type Folding, prefixOf, workOf } from './export-run.js'
import { PRODUCTS } from './focus/columns.js'
import { mapInOrder } from './map-in-order.js'
import { withMetadata } from './parquet-metadata.js'
import { dayOf } from './slices.js'
import { ExportFailed, streamWithStoreErrors, withBlobErrors, withStoreErrors } from './unavailable.js'

/** Writes the data file of a job from its staged and folded groups. */
export async function writeFile(run: ExportRun, folding: Folding, tenantName: string): Promise<StoredFile> {
  const { hold, request } = run
  const { period, columns } = request
  const question = {
    jobId: folding.jobId,
    columns,
    from: period.from,
    to: dayOf(startOfDay(period.to) + DAY_MS),
    constants: {
      tenantId: hold.job.tenant_id,
      tenantName,
      issuer: tenantName,
      products: PRODUCTS,
      tags: run.grain.tags,
      isWidened: run.work.filters_applied < request.filters.length,
    },
  }
  const name = `focus-${period.from}-${period.to}-${hold.job.id}`
  if (request.file_format === 'parquet') {
    const { stagings, folds } = folding
    const rows = streamRows({ ...question, stagings, folds, of: 'all' }, 'parquet', run)
    const file = withMetadata(rows, { FocusVersion: request.focus_version })
    return storeFile(run, `${name}.parquet`, 'application/vnd.apache.parquet', file)
  }
  await writeParts(run, folding, question)
  return storeFile(run, `${name}.csv.gz`, 'application/gzip', csvFile(columns, run))
}

type Question = Omit<FocusRowsQuestion, 'of' | 'stagings' | 'folds'>

/**
 * Writes the parts of a CSV file, each a gzip member or empty: the shown rows of each slice, and after each month its
 * folded rows.
 */
async function writeParts(run: ExportRun, { stagings, folds, totals }: Folding, question: Question): Promise<void> {
  const { hold, slices, blobs, signal } = run
  const parts = byMonth(slices, stagings).flatMap((ofMonth, month): Pick<FocusRowsQuestion, 'of' | keyof Staged>[] => {
    const of = { jobId: question.jobId, folds: folds.slice(month, month + 1) }
    return [
      ...ofMonth.map((staging) => ({ ...of, of: 'shown', stagings: [staging] }) as const),
      { ...of, of: 'folded', stagings: ofMonth },
    ]
  })
  const isThere = async ({ key }: JobWork['parts'][number]) => (await withBlobErrors(blobs.size(key))) !== undefined
  if ((await Promise.all(workOf(hold).parts.map(isThere))).includes(false)) {
    await hold.save({ work: { ...workOf(hold), parts: [] } })
  }
  const writeOne = async ([index, part]: readonly [number, (typeof parts)[number]], signal: AbortSignal) => {
    signal.throwIfAborted()
    const key = `${prefixOf(hold.job)}parts/${String(index).padStart(5, '0')}`
    const counted = { rows: 0 }
    const packed = streamRows({ ...question, ...part }, 'csv', { ...run, signal })
    await withBlobErrors(blobs.write(key, countingRows(packed, counted)))
    return { key, rows: counted.rows }
  }
  const left = [...parts.entries()].slice(workOf(hold).parts.length)
  for await (const part of mapInOrder(left, AT_ONCE, writeOne, signal)) {
    const work = workOf(hold)
    const done = [...work.parts, part]
    await hold.save({ percent: 50 + Math.floor((45 * done.length) / parts.length), work: { ...work, parts: done } })
  }
  const written = workOf(hold).parts.reduce((total, { rows }) => total + rows, 0)
  if (written !== totals.rows) throw new ExportFailed('totals_differ')
}

async function* csvFile(columns: readonly string[], { hold, blobs }: ExportRun): AsyncGenerator<Uint8Array> {
  yield gzipSync(`${columns.join(',')}\r\n`)
  for (const { key } of workOf(hold).parts) yield* blobs.read(key)
}

async function* streamRows(
  question: FocusRowsQuestion,
  format: 'csv' | 'parquet',
  { source, signal }: ExportRun,
): AsyncGenerator<Uint8Array> {
  const rows = await withStoreErrors('internal_error', source.streamRows(question, format, signal))
  for await (const some of streamWithStoreErrors('internal_error', rows)) {
    signal.throwIfAborted()
    yield some
  }
}

/** Writes a file of the job and computes its SHA-256 digest. */
export async function storeFile(
  { hold, blobs }: ExportRun,
  name: string,
  mediaType: string,
  parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<StoredFile> {
  const key = `${prefixOf(hold.job)}${name}`
  const digest = createHash('sha256')
  const digested = async function* () {
    for await (const part of parts) {
      digest.update(part)
      yield part
    }
  }
  const bytes = await withBlobErrors(blobs.write(key, digested()))
  return { key, name, media_type: mediaType, bytes, sha256: digest.digest('hex') }
}

const LINE_FEED = 0x0a
/** Chunk size when decompressing rows. */
const PIECE_BYTES = 256 * 1024

/**
 * Streams a gzip member (RFC 1952) of CSV lines through unchanged and counts its rows, so that the rows actually in the
 * file are counted. Values contain no control characters, so every line feed ends a row. Empty input has no rows.
 *
 * @param counted receives the number of rows at the end
 * @throws ExportFailed when the input is not a complete gzip member; also any error of the source
 */
export async function* countingRows(
  packed: AsyncIterable<Uint8Array>,
  counted: { rows: number },
): AsyncGenerator<Uint8Array> {
  const unpacking = createGunzip({ chunkSize: PIECE_BYTES })
  unpacking.on('data', (lines: Buffer) => {
    for (let at = lines.indexOf(LINE_FEED); at >= 0; at = lines.indexOf(LINE_FEED, at + 1)) counted.rows++
  })
  const ended = once(unpacking, 'end')
  // The error is thrown where `ended` is awaited below.
  ended.catch(() => undefined)
  try {
    let bytes = 0
    for await (const part of packed) {
      // The write callback is never called for bytes that cannot be decompressed.
      await unpacked(Promise.race([ended, new Promise((done) => unpacking.write(part, done))]))
      bytes += part.length
      yield part
    }
    if (bytes === 0) return
    unpacking.end()
    await unpacked(ended)
  } finally {
    unpacking.destroy()
  }
}

async function unpacked(work: Promise<unknown>): Promise<void> {
  await work.catch((cause: unknown) => {
    throw new ExportFailed('internal_error', { cause })
  })
}
