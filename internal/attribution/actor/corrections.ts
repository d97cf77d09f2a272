import { idHex } from '../../ids/ids.js'
import type { Verdict } from '../records/row.js'
import { listMessages, type NamedMessage } from './list-messages.js'

/**
 * A new verdict of the trace stage on an event that it has already processed. The correction follows the event through
 * the mailboxes of the later stages and arrives after it, when the event has its record or never will. The changes
 * actor then replaces the record's version if that version still rests on weaker evidence.
 *
 * Applying a correction twice has no further effect.
 */
export interface Correction extends Learned {
  /** The batch that caused the correction; with the event, it identifies the correction. */
  readonly cause: string
}

export interface Learned {
  readonly tenantId: string
  /** 16 bytes. */
  readonly id: Uint8Array
  readonly verdict: Verdict
}

interface WireCorrection {
  readonly t: string
  readonly i: string
  readonly v: Verdict
  readonly c: string
}

/** @throws Error when the bytes are not valid corrections; the message is then poison */
export function decodeCorrections(data: Uint8Array): Correction[] {
  const { corrections } = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString('utf8')) as {
    readonly corrections: readonly WireCorrection[]
  }
  return corrections.map(({ t, i, v, c }) => {
    const isOne =
      typeof t === 'string' && typeof c === 'string' && /^[0-9a-f]{32}$/.test(i) && typeof v?.service === 'string'
    if (!isOne) throw new Error('not a valid correction')
    return { tenantId: t, id: Buffer.from(i, 'hex'), verdict: v, cause: c }
  })
}

/** @param source stage, partition and last sequence of the batch that creates or forwards the corrections */
export const correctionMessages = (source: string, corrections: readonly Correction[]): NamedMessage[] =>
  listMessages(
    ID_PREFIX,
    'corrections',
    source,
    corrections.map(({ tenantId, id, verdict, cause }): WireCorrection => {
      return { t: tenantId, i: idHex(id), v: verdict, c: cause }
    }),
  )

const ID_PREFIX = 'correct.'

export const isCorrection = (messageId: string): boolean => messageId.startsWith(ID_PREFIX)
