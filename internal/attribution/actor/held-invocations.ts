import type { KV } from '@nats-io/kv'
import { INVOCATIONS, invocationsSubject, type StageName } from '../../../streams/invocations.js'
import { readCheckpoint } from '../../broker/checkpoint.js'
import type { LogEntry, LogRange } from '../../broker/log.js'
import { idHex } from '../../ids/ids.js'
import { type AdmittedInvocation, decodeGroup, namesAny } from '../../invocations/invocation-group.js'
import type { Checkpoint } from './checkpoint.js'
import type { SeenEvent } from './seen-events.js'

export interface HeldDeps {
  readonly readLog: (range: LogRange) => Promise<LogEntry[]>
  readonly checkpoints: KV
  /** Those that may hold events. */
  readonly partitions: () => Promise<readonly number[]>
}

/** @param isWanted of an event's id in hexadecimal */
export type FindHeld = (isWanted: (id: string) => boolean) => Promise<readonly SeenEvent[]>

interface Question {
  readonly isWanted: (id: string) => boolean
  readonly found: SeenEvent[]
}

/**
 * Finds events that the facts stage has handed over and that have no record yet. A search reads the mailboxes of the
 * later stages, of all partitions, to their ends: one that is asked for during a search waits for the next, which is
 * one for all partitions of this process, however many ask.
 */
export function heldFinder(deps: HeldDeps): FindHeld {
  let last: Promise<void> = Promise.resolve()
  let next: { readonly questions: Question[]; readonly search: Promise<void> } | undefined
  return async (isWanted) => {
    const question: Question = { isWanted, found: [] }
    if (next === undefined) {
      const questions: Question[] = []
      const begin = (): Promise<void> => {
        next = undefined
        return search(questions, deps)
      }
      next = { questions, search: last.then(begin, begin) }
      last = next.search
    }
    next.questions.push(question)
    await next.search
    return question.found
  }
}

/**
 * Stage by stage in the order in which events pass: one that moves on meanwhile is found in the next mailbox, or has
 * its record.
 */
async function search(questions: readonly Question[], deps: HeldDeps): Promise<void> {
  const partitions = await deps.partitions()
  for (const stage of ['t', 'b', 'c'] as const) {
    await Promise.all(partitions.map((partition) => searchMailbox(stage, partition, questions, deps)))
  }
}

/** Of one mailbox, since all partitions are read at once. */
const PORTION = { messagesMax: 500, bytesMax: 2 * 1024 * 1024 }

async function searchMailbox(
  stage: StageName,
  partition: number,
  questions: readonly Question[],
  { readLog, checkpoints }: HeldDeps,
): Promise<void> {
  const checkpoint = await readCheckpoint<Checkpoint>(checkpoints, `${stage}.${partition}`)
  const range = { stream: INVOCATIONS.name, subject: invocationsSubject(stage, partition), ...PORTION }
  for (let from = (checkpoint?.done ?? 0) + 1; ; ) {
    const entries = await readLog({ ...range, from })
    const last = entries.at(-1)
    if (last === undefined) return
    for (const entry of entries) takeFrom(entry, questions)
    from = last.sequence + 1
  }
}

/** A message is decoded only if it names an event that is wanted. */
function takeFrom({ data, sequence }: LogEntry, questions: readonly Question[]): void {
  const asking = questions.filter(({ isWanted }) => namesAny(data, isWanted))
  if (asking.length === 0) return
  for (const { id, position } of decodeOrSkip(data, sequence)) {
    for (const { isWanted, found } of asking) {
      if (isWanted(idHex(id))) found.push({ id, position })
    }
  }
}

/** The stage that reads the mailbox quarantines an unreadable message; a message with corrections holds no events. */
function decodeOrSkip(data: Uint8Array, sequence: number): readonly AdmittedInvocation[] {
  try {
    return decodeGroup(data, sequence)
  } catch {
    return []
  }
}
