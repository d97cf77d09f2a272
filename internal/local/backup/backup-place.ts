import type { BlobStore } from '../../exports/blobs/blob-store.js'
import { directoryBlobs } from '../../exports/blobs/directory.js'

export interface S3Place {
  /** Of an S3-compatible store; empty: AWS S3. */
  readonly endpoint: string
  readonly region: string
}

/**
 * Opens a place of backups: a folder, or `s3://bucket/prefix`. Credentials of S3 are those of the AWS SDK's chain
 * (environment, profile, role).
 */
export async function openPlace(place: string, { endpoint, region }: S3Place): Promise<BlobStore> {
  const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)\/?(.*?)\/?$/.exec(place) ?? []
  if (bucket === undefined) return directoryBlobs(place, null)
  // The AWS SDK is large: load it only when it is used.
  const { s3Blobs } = await import('../../exports/blobs/s3.js')
  const blobs = s3Blobs({ bucket, endpoint, region, accessKey: '', secretKey: '' })
  const under = (key: string): string => (prefix === '' ? key : `${prefix}/${key}`)
  return {
    place: blobs.place,
    write: (key, parts) => blobs.write(under(key), parts),
    create: (key, bytes) => blobs.create(under(key), bytes),
    size: (key, signal) => blobs.size(under(key), signal),
    read: (key, range, signal) => blobs.read(under(key), range, signal),
    usedShare: blobs.usedShare,
    removeUnder: (folder) => blobs.removeUnder(under(folder)),
  }
}
