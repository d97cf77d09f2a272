import { join } from 'node:path'
import type { BlobStore } from './blob-store.js'
import { directoryBlobs } from './directory.js'

export interface BlobSettings {
  readonly dataDir: string
  readonly exportsDir: string
  /** Of the instance; empty: not said. */
  readonly region: string
}

/** The blob store that the settings name. */
export const openBlobs = ({ dataDir, exportsDir, region }: BlobSettings): BlobStore =>
  directoryBlobs(exportsDir === '' ? join(dataDir, 'exports') : exportsDir, region === '' ? null : region)
