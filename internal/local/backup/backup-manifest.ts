import type { StreamConfig, StreamState } from '@nats-io/jetstream'

/** A blob of a backup, and what proves that it is whole. */
export interface Blob {
  readonly key: string
  readonly bytes: number
  /** Hex. */
  readonly sha256: string
}

/** A part of a table of the read model: a folder of files that never change. */
export interface BackedUpPart extends Blob {
  /** Below the engine's data folder. */
  readonly path: string
}

export interface BackedUpStream extends Blob {
  readonly config: StreamConfig
  readonly state: StreamState
  /** With what it got until the consistent point. */
  readonly last_sequence: number
}

/** What a backup consists of. Everything is as of `consistent_at`. */
export interface Manifest {
  readonly format: 1
  readonly id: string
  readonly service_version: string
  /** RFC 3339. */
  readonly consistent_at: string
  readonly schema_version: number
  readonly records: number
  /** Sum over current and replaced versions, decimal text: tells two copies of the records apart. */
  readonly cost_usd: string
  /** Of the master key that seals the secrets in it (`secrets/master-keys.ts`). */
  readonly master_key_id: string
  /** The master key itself and the first credentials, sealed by a passphrase; null: they are kept elsewhere. */
  readonly keys: Blob | null
  /** Files of the read model beside its parts: tables, and changes of their rows that are under way. */
  readonly files: Blob
  readonly links: readonly (readonly [path: string, target: string])[]
  readonly parts: readonly BackedUpPart[]
  readonly streams: readonly BackedUpStream[]
  /** What the streams got after their snapshots: a line of JSON for each message, with its stream. */
  readonly tails: Blob
}

/** A manifest as it is stored, and what proves who wrote it. */
export interface SignedManifest {
  readonly manifest: Manifest
  readonly bytes: Uint8Array
  /** See `authenticity.ts`. Undefined: 0.3.0 or an older version made the backup. */
  readonly signature: string | undefined
}

/** A backup in the index of its place, newest last. */
export interface IndexEntry {
  readonly id: string
  readonly consistent_at: string
  readonly service_version: string
  readonly records: number
  /** All of it, and what no earlier backup had. */
  readonly bytes: number
  readonly new_bytes: number
  readonly manifest: Blob
  /** Of the manifest. */
  readonly signature?: string
}

export const blobsOf = ({ keys, files, parts, streams, tails }: Manifest): readonly Blob[] => [
  ...(keys === null ? [] : [keys]),
  files,
  ...parts,
  ...streams,
  tails,
]
