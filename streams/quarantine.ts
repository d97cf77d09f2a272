import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'
import type { StageName } from './invocations.js'

/** What a reader of a log could not handle: kept until an operator replays or deletes it. */
export const QUARANTINE = {
  name: 'QUARANTINE',
  subjects: ['quarantine.*'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New, // never dropped to make room: a full quarantine stops the stage and is seen
  max_bytes: 1024 ** 3,
  max_age: 0,
  duplicate_window: 120_000_000_000,
  allow_direct: true,
} satisfies Partial<StreamConfig>

export const quarantineSubject = (reader: StageName | 'observations' | 'audit' | 'changes'): string =>
  `quarantine.${reader}`
