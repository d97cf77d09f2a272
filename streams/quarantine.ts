import { DiscardPolicy, RetentionPolicy, StorageType, type StreamConfig } from '@nats-io/jetstream'
import { AUDIT } from './audit.js'
import { CHANGES } from './changes.js'
import { INVOCATIONS, type StageName } from './invocations.js'
import { OBSERVATIONS } from './observations.js'

/**
 * Poison messages: messages, or single events of them, that a reader of a log could not handle. Kept until an operator
 * replays or deletes them. A message has the original bytes; its headers give the reason and the log that it came from
 * (`internal/broker/quarantine.ts`).
 */
export const QUARANTINE = {
  name: 'QUARANTINE',
  subjects: ['quarantine.*'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New, // never drops a message: a full quarantine stops the stage, which operators notice
  max_bytes: 1024 ** 3,
  max_age: 0,
  duplicate_window: 120_000_000_000,
  allow_direct: true,
  allow_atomic: true, // a rule may fail on each event of a batch
} satisfies Partial<StreamConfig>

export type QuarantineReader = StageName | 'observations' | 'audit' | 'changes'

export const quarantineSubject = (reader: QuarantineReader): string => `quarantine.${reader}`

/** The quarantined messages of all readers. */
export const QUARANTINE_OF_ALL = 'quarantine.*'

/** The log that a reader reads. */
export interface QuarantinedLog {
  readonly stream: string
  /** Prefix of its subjects; one more token follows. */
  readonly subjects: string
}

const logOfStage = (stage: StageName): QuarantinedLog => ({
  stream: INVOCATIONS.name,
  subjects: `invocations.${stage}.`,
})

const LOGS: Readonly<Record<QuarantineReader, QuarantinedLog>> = {
  l: logOfStage('l'),
  a: logOfStage('a'),
  t: logOfStage('t'),
  b: logOfStage('b'),
  c: logOfStage('c'),
  observations: { stream: OBSERVATIONS.name, subjects: 'observations.' },
  audit: { stream: AUDIT.name, subjects: 'audit.' },
  changes: { stream: CHANGES.name, subjects: 'changes.' },
}

const isReader = (reader: string): reader is QuarantineReader => Object.hasOwn(LOGS, reader)

/** @returns undefined for a reader that only a newer version knows */
export const logOfQuarantined = (reader: string): QuarantinedLog | undefined =>
  isReader(reader) ? LOGS[reader] : undefined
