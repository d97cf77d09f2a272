import { join } from 'node:path'
import type { BlobStore } from './blob-store.js'
import { directoryBlobs } from './directory.js'

export interface BlobSettings {
  readonly dataDir: string
  /** Empty: a folder in the data directory. */
  readonly exportsDir: string
  /** Of the instance; empty: unknown. */
  readonly region: string
  /** Empty: files are stored in a directory instead. */
  readonly exportsS3Bucket: string
  readonly exportsS3Endpoint: string
  readonly exportsS3Region: string
  readonly exportsS3AccessKey: string
  readonly exportsS3SecretKey: string
}

/** Opens the configured blob store. */
export async function openBlobs(settings: BlobSettings): Promise<BlobStore> {
  const { dataDir, exportsDir, region, exportsS3Bucket: bucket } = settings
  if (bucket === '') {
    return directoryBlobs(exportsDir === '' ? join(dataDir, 'exports') : exportsDir, region === '' ? null : region)
  }
  // The AWS SDK is large: load it only when it is used.
  const { s3Blobs } = await import('./s3.js')
  return s3Blobs({
    bucket,
    endpoint: settings.exportsS3Endpoint,
    region: settings.exportsS3Region,
    accessKey: settings.exportsS3AccessKey,
    secretKey: settings.exportsS3SecretKey,
  })
}
