import {
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import type { BlobStore } from './blob-store.js'
import { boundAnswers, PATIENCE } from './s3-answers.js'
import { CHECKSUMS, writeObject } from './s3-upload.js'

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

/** Maximum number of keys per DeleteObjects request. */
const DELETE_KEYS_MAX = 1_000

/** A blob store in a bucket of S3 or of an S3-compatible store. */
export function s3Blobs({ bucket, endpoint, region, accessKey, secretKey }: S3Settings): BlobStore {
  const client = new S3Client({
    region,
    ...(endpoint !== '' && { endpoint, forcePathStyle: true }),
    ...(accessKey !== '' && { credentials: { accessKeyId: accessKey, secretAccessKey: secretKey } }),
    requestHandler: PATIENCE,
    ...CHECKSUMS,
  })
  boundAnswers(client)
  const of = (key: string) => ({ Bucket: bucket, Key: key })

  return {
    place: { name: 'the store of export files', region },

    write: (key, parts) => writeObject(client, of(key), parts),

    async create(key, bytes) {
      try {
        await client.send(new PutObjectCommand({ ...of(key), Body: bytes, IfNoneMatch: '*' }))
        return true
      } catch (cause) {
        // 409: another caller's write of it is under way.
        if (cause instanceof S3ServiceException && [409, 412].includes(cause.$metadata.httpStatusCode ?? 0))
          return false
        throw cause
      }
    },

    async size(key, signal) {
      try {
        return (await client.send(new HeadObjectCommand(of(key)), giveUpBy(signal))).ContentLength
      } catch (cause) {
        if (cause instanceof S3ServiceException && cause.$metadata.httpStatusCode === 404) return undefined
        throw cause
      }
    },

    async *read(key, range, signal) {
      const ranged = range && { Range: `bytes=${range.first}-${range.last}` }
      const { Body } = await client.send(new GetObjectCommand({ ...of(key), ...ranged }), giveUpBy(signal))
      // In Node the body is a readable stream.
      for await (const part of Body as AsyncIterable<Uint8Array>) yield part
    },

    usedShare: async () => undefined,

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

const giveUpBy = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { abortSignal: signal })
