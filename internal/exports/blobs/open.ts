import { join } from 'node:path'
import type { BlobStore } from './blob-store.js'
import { directoryBlobs } from './directory.js'

export interface BlobSettings {
  readonly dataDir: string
  /** Empty: within the data folder. */
  readonly exportsDir: string
  /** Of the instance; empty: not said. */
  readonly region: string
  /** Empty: a directory. */
  readonly exportsS3Bucket: string
  readonly exportsS3Endpoint: string
  readonly exportsS3Region: string
  readonly exportsS3AccessKey: string
  readonly exportsS3SecretKey: string
}

/** The blob store that the settings name. */
export async function openBlobs(settings: BlobSettings): Promise<BlobStore> {
  const { dataDir, exportsDir, region, exportsS3Bucket: bucket } = settings
  if (bucket === '') {
    return directoryBlobs(exportsDir === '' ? join(dataDir, 'exports') : exportsDir, region === '' ? null : region)
  }
  // A large library, which is loaded only where it is used.
  const { s3Blobs } = await import('./s3.js')
  return s3Blobs({
    bucket,
    endpoint: settings.exportsS3Endpoint,
    region: settings.exportsS3Region,
    accessKey: settings.exportsS3AccessKey,
    secretKey: settings.exportsS3SecretKey,
  })
}
