import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'
import { AUDIT } from './audit.js'
import { CHANGES } from './changes.js'
import { INVOCATIONS, type StageName } from './invocations.js'
import { OBSERVATIONS } from './observations.js'

/**
 * What a reader of a log could not handle: kept until an operator replays or deletes it. A message has the bytes of what it
 * was, or of one event of it; why it is here and where it came from stand in its headers (`internal/broker/quarantine.ts`).
 */
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

export type QuarantineReader = StageName | 'observations' | 'audit' | 'changes'

export const quarantineSubject = (reader: QuarantineReader): string => `quarantine.${reader}`

/** Those of every reader. */
export const QUARANTINE_OF_ALL = 'quarantine.*'

/** Where a reader's messages come from. */
export interface QuarantinedLog {
  readonly stream: string
  /** How their subjects begin; one more token follows. */
  readonly subjects: string
}

/** @returns undefined for a reader that only a newer version has */
export function logOfQuarantined(reader: string): QuarantinedLog | undefined {
  switch (reader) {
    case 'a':
    case 'b':
    case 'c':
      return { stream: INVOCATIONS.name, subjects: `invocations.${reader}.` }
    case 'observations':
      return { stream: OBSERVATIONS.name, subjects: 'observations.' }
    case 'audit':
      return { stream: AUDIT.name, subjects: 'audit.' }
    case 'changes':
      return { stream: CHANGES.name, subjects: 'changes.' }
    default:
      return undefined
  }
}
