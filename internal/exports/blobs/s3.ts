import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import type { BlobStore } from './blob-store.js'

export interface S3Settings {
  readonly bucket: string
  /** Of an S3-compatible store; empty: AWS S3. */
  readonly endpoint: string
  /** Region of the bucket, as named by the cloud provider. */
  readonly region: string
  /** Both empty: the default AWS credential chain (role, profile, environment variables). */
  readonly accessKey: string
  readonly secretKey: string
}

/** Part size of multipart uploads: above the minimum of 5 MiB; 10,000 parts allow a file of 80 GB. */
const PART_BYTES = 8 * 1024 * 1024
/** Maximum number of keys per DeleteObjects request. */
const DELETE_KEYS_MAX = 1_000

/** A blob store in a bucket of S3 or of an S3-compatible store. */
export function s3Blobs({ bucket, endpoint, region, accessKey, secretKey }: S3Settings): BlobStore {
  const client = new S3Client({
    region,
    ...(endpoint !== '' && { endpoint, forcePathStyle: true }),
    ...(accessKey !== '' && { credentials: { accessKeyId: accessKey, secretAccessKey: secretKey } }),
    // Some S3-compatible stores do not support the newer checksums; TLS and the manifest's digest protect the content.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
  const of = (key: string) => ({ Bucket: bucket, Key: key })

  /** Multipart upload; a failure aborts it, so that no parts remain. */
  const upload = async (key: string, first: Buffer, rest: AsyncIterator<Buffer>): Promise<number> => {
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(of(key)))
    const parts: CompletedPart[] = []
    let bytes = 0
    try {
      for (let body: Buffer | undefined = first; body !== undefined; body = await nextOf(rest)) {
        const PartNumber = parts.length + 1
        const { ETag } = await client.send(new UploadPartCommand({ ...of(key), UploadId, PartNumber, Body: body }))
        parts.push({ PartNumber, ETag })
        bytes += body.length
      }
      await client.send(new CompleteMultipartUploadCommand({ ...of(key), UploadId, MultipartUpload: { Parts: parts } }))
    } catch (cause) {
      // If this fails too, the bucket's lifecycle rule for incomplete uploads removes the parts.
      await client.send(new AbortMultipartUploadCommand({ ...of(key), UploadId })).catch(() => undefined)
      throw cause
    }
    return bytes
  }

  return {
    place: { name: 'the store of export files', region },

    async write(key, parts) {
      const blocks = inBlocks(parts)
      const first = (await nextOf(blocks)) ?? Buffer.alloc(0)
      const second = await nextOf(blocks)
      if (second !== undefined) return upload(key, first, prepended(second, blocks))
      await client.send(new PutObjectCommand({ ...of(key), Body: first }))
      return first.length
    },

    async size(key) {
      try {
        return (await client.send(new HeadObjectCommand(of(key)))).ContentLength
      } catch (cause) {
        if (cause instanceof S3ServiceException && cause.$metadata.httpStatusCode === 404) return undefined
        throw cause
      }
    },

    async *read(key, range) {
      const Range = range && `bytes=${range.first}-${range.last}`
      const { Body } = await client.send(new GetObjectCommand({ ...of(key), ...(Range !== undefined && { Range }) }))
      // In Node the body is a readable stream.
      for await (const part of Body as AsyncIterable<Uint8Array>) yield part
    },

    async removeUnder(prefix) {
      for (;;) {
        const listed = await client.send(
          new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, MaxKeys: DELETE_KEYS_MAX }),
        )
        const keys = (listed.Contents ?? []).flatMap(({ Key }) => (Key === undefined ? [] : [{ Key }]))
        if (keys.length === 0) return
        const { Errors } = await client.send(
          new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: keys, Quiet: true } }),
        )
        if (Errors !== undefined && Errors.length > 0) throw new Error(`${Errors.length} objects could not be deleted`)
      }
    },
  }
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
