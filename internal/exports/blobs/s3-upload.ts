import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'

/** Part size of multipart uploads: above the minimum of 5 MiB; 10,000 parts allow a file of 80 GB. */
const PART_BYTES = 8 * 1024 * 1024
/** Some S3-compatible stores do not support the newer checksums; TLS and the manifest's digest protect the content. */
export const CHECKSUMS = {
  requestChecksumCalculation: 'WHEN_REQUIRED',
  responseChecksumValidation: 'WHEN_REQUIRED',
} as const

interface ObjectName {
  readonly Bucket: string
  readonly Key: string
}

/**
 * Streams an object into a bucket with bounded memory: it exists completely or not at all.
 *
 * @param signal aborts the upload
 * @returns its size in bytes
 */
export async function writeObject(
  client: S3Client,
  of: ObjectName,
  parts: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<number> {
  const options = signal === undefined ? {} : { abortSignal: signal }
  const blocks = inBlocks(parts)
  const first = (await nextOf(blocks)) ?? Buffer.alloc(0)
  const second = await nextOf(blocks)
  if (second !== undefined) return upload(client, of, first, prepended(second, blocks), options)
  await client.send(new PutObjectCommand({ ...of, Body: first }), options)
  return first.length
}

/** Multipart upload; a failure aborts it, so that no parts remain. */
async function upload(
  client: S3Client,
  of: ObjectName,
  first: Buffer,
  rest: AsyncIterator<Buffer>,
  options: { readonly abortSignal?: AbortSignal },
): Promise<number> {
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(of), options)
  const parts: CompletedPart[] = []
  let bytes = 0
  try {
    for (let body: Buffer | undefined = first; body !== undefined; body = await nextOf(rest)) {
      const PartNumber = parts.length + 1
      const { ETag } = await client.send(new UploadPartCommand({ ...of, UploadId, PartNumber, Body: body }), options)
      parts.push({ PartNumber, ETag })
      bytes += body.length
    }
    const MultipartUpload = { Parts: parts }
    await client.send(new CompleteMultipartUploadCommand({ ...of, UploadId, MultipartUpload }), options)
  } catch (cause) {
    // If this fails too, the bucket's lifecycle rule for incomplete uploads removes the parts.
    await client.send(new AbortMultipartUploadCommand({ ...of, UploadId })).catch(() => undefined)
    throw cause
  }
  return bytes
}

async function nextOf<T>(iterator: AsyncIterator<T>): Promise<T | undefined> {
  const next = await iterator.next()
  return next.done === true ? undefined : next.value
}

async function* prepended<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield first
  yield* rest
}

/** Regroups the bytes into blocks of equal size; the last may be shorter. */
async function* inBlocks(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let held: Uint8Array[] = []
  let bytes = 0
  for await (const part of parts) {
    for (let at = 0; at < part.length; ) {
      const taken = part.subarray(at, at + PART_BYTES - bytes)
      held.push(taken)
      at += taken.length
      bytes += taken.length
      if (bytes < PART_BYTES) continue
      yield Buffer.concat(held)
      held = []
      bytes = 0
    }
  }
  if (bytes > 0) yield Buffer.concat(held)
}
