import type { KeyHash } from '../../ids/key-hash.js'
import type { Fingerprint } from '../../repeats/key-table.js'

/**
 * The messages of `gateways.<member>.claims` in bytes. Little-endian words of 32 bits: a head with kind and sender,
 * then records of fixed length; the number of records follows from the message's length. An answer has two bytes per
 * claim, in the order of the claims.
 *
 * A change of format needs a new kind number: a gateway that does not know a kind does not answer it, and its peers
 * then decide for themselves.
 */

/** Identifies the process that sent a claim: random, drawn at its start. */
export interface PeerId {
  readonly word0: number
  readonly word1: number
}

/**
 * @param id distinct among the sender's claims of the last hours, 32 bits without sign; the same when the claim is
 * repeated
 */
export interface ClaimRecord {
  readonly id: number
  readonly key: KeyHash
  readonly fingerprint: Fingerprint
}

export interface SettlementRecord extends ClaimRecord {
  readonly isAdmitted: boolean
  /** 0 to 255, the caller's own. */
  readonly flags: number
}

/** What a gateway lets the owner of an event know. */
export interface EventRecord {
  readonly key: KeyHash
  /** Where the event goes unless another request had it before. */
  readonly partition: number
  /** - release: a claimed event could not be stored - stored: the log holds the event, which was not claimed here */
  readonly what: 'claim' | 'release' | 'stored'
}

export type PeerMessage =
  | { readonly kind: 'claims'; readonly sender: PeerId; readonly records: readonly ClaimRecord[] }
  | { readonly kind: 'settlements'; readonly sender: PeerId; readonly records: readonly SettlementRecord[] }
  | { readonly kind: 'events'; readonly sender: PeerId; readonly records: readonly EventRecord[] }

/** The owner's answer to one claim. */
export type ClaimAnswer =
  | { readonly kind: 'proceed' }
  | { readonly kind: 'same'; readonly flags: number }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'wait' }

const KIND_CLAIMS = 1
const KIND_SETTLEMENTS = 2
const KIND_EVENTS = 3
const HEAD_BYTES = 12
const CLAIM_BYTES = 28
const SETTLEMENT_BYTES = 32
const IS_ADMITTED = 0x100
const EVENT_BYTES = 20
const EVENT_IS = { claim: 0, release: 0x100, stored: 0x200 } as const

const ANSWER_BYTES = 2
const PROCEED = 1
const SAME = 2
const CONFLICT = 3
const WAIT = 4

export function encodeClaims(sender: PeerId, records: readonly ClaimRecord[]): Uint8Array {
  const view = messageOf(KIND_CLAIMS, sender, records.length * CLAIM_BYTES)
  let at = HEAD_BYTES
  for (const record of records) {
    writeClaim(view, at, record)
    at += CLAIM_BYTES
  }
  return new Uint8Array(view.buffer)
}

export function encodeSettlements(sender: PeerId, records: readonly SettlementRecord[]): Uint8Array {
  const view = messageOf(KIND_SETTLEMENTS, sender, records.length * SETTLEMENT_BYTES)
  let at = HEAD_BYTES
  for (const record of records) {
    writeClaim(view, at, record)
    view.setUint32(at + CLAIM_BYTES, record.flags | (record.isAdmitted ? IS_ADMITTED : 0), true)
    at += SETTLEMENT_BYTES
  }
  return new Uint8Array(view.buffer)
}

/** The reply has one byte per record, in their order (`internal/ingest/keys/event-answers.ts`). */
export function encodeEvents(sender: PeerId, records: readonly EventRecord[]): Uint8Array {
  const view = messageOf(KIND_EVENTS, sender, records.length * EVENT_BYTES)
  let at = HEAD_BYTES
  for (const { key, partition, what } of records) {
    for (let i = 0; i < 4; i++) view.setInt32(at + 4 * i, key[i] ?? 0, true)
    view.setUint32(at + 16, partition | EVENT_IS[what], true)
    at += EVENT_BYTES
  }
  return new Uint8Array(view.buffer)
}

/** @returns undefined for a message of another kind or length */
export function decodeMessage(bytes: Uint8Array): PeerMessage | undefined {
  if (bytes.length < HEAD_BYTES) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const sender = { word0: view.getInt32(4, true), word1: view.getInt32(8, true) }
  switch (view.getUint32(0, true)) {
    case KIND_CLAIMS:
      if ((bytes.length - HEAD_BYTES) % CLAIM_BYTES !== 0) return undefined
      return { kind: 'claims', sender, records: readAll(view, CLAIM_BYTES, readClaim) }
    case KIND_SETTLEMENTS:
      if ((bytes.length - HEAD_BYTES) % SETTLEMENT_BYTES !== 0) return undefined
      return { kind: 'settlements', sender, records: readAll(view, SETTLEMENT_BYTES, readSettlement) }
    case KIND_EVENTS:
      if ((bytes.length - HEAD_BYTES) % EVENT_BYTES !== 0) return undefined
      return { kind: 'events', sender, records: readAll(view, EVENT_BYTES, readEvent) }
    default:
      return undefined
  }
}

export function encodeAnswers(answers: readonly ClaimAnswer[]): Uint8Array {
  const bytes = new Uint8Array(answers.length * ANSWER_BYTES)
  let at = 0
  for (const answer of answers) {
    bytes[at++] = CODES[answer.kind]
    bytes[at++] = answer.kind === 'same' ? answer.flags : 0
  }
  return bytes
}

/** @returns undefined unless it holds a known answer to each of `count` claims */
export function decodeAnswers(bytes: Uint8Array, count: number): ClaimAnswer[] | undefined {
  if (bytes.length !== count * ANSWER_BYTES) return undefined
  const answers: ClaimAnswer[] = []
  for (let at = 0; at < bytes.length; at += ANSWER_BYTES) {
    const answer = answerOf(bytes[at], bytes[at + 1] ?? 0)
    if (answer === undefined) return undefined
    answers.push(answer)
  }
  return answers
}

const CODES = { proceed: PROCEED, same: SAME, conflict: CONFLICT, wait: WAIT } as const

function answerOf(code: number | undefined, flags: number): ClaimAnswer | undefined {
  switch (code) {
    case PROCEED:
      return { kind: 'proceed' }
    case SAME:
      return { kind: 'same', flags }
    case CONFLICT:
      return { kind: 'conflict' }
    case WAIT:
      return { kind: 'wait' }
    default:
      return undefined
  }
}

function messageOf(kind: number, { word0, word1 }: PeerId, recordsBytes: number): DataView<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(HEAD_BYTES + recordsBytes))
  view.setUint32(0, kind, true)
  view.setInt32(4, word0, true)
  view.setInt32(8, word1, true)
  return view
}

function writeClaim(view: DataView, at: number, { id, key, fingerprint }: ClaimRecord): void {
  view.setUint32(at, id, true)
  for (let i = 0; i < 4; i++) view.setInt32(at + 4 + 4 * i, key[i] ?? 0, true)
  for (let i = 0; i < 2; i++) view.setInt32(at + 20 + 4 * i, fingerprint[i] ?? 0, true)
}

function readClaim(view: DataView, at: number): ClaimRecord {
  const key: KeyHash = new Int32Array(4)
  const fingerprint: Fingerprint = new Int32Array(2)
  for (let i = 0; i < 4; i++) key[i] = view.getInt32(at + 4 + 4 * i, true)
  for (let i = 0; i < 2; i++) fingerprint[i] = view.getInt32(at + 20 + 4 * i, true)
  return { id: view.getUint32(at, true), key, fingerprint }
}

function readSettlement(view: DataView, at: number): SettlementRecord {
  const meta = view.getUint32(at + CLAIM_BYTES, true)
  return { ...readClaim(view, at), isAdmitted: (meta & IS_ADMITTED) !== 0, flags: meta & 0xff }
}

function readEvent(view: DataView, at: number): EventRecord {
  const key: KeyHash = new Int32Array(4)
  for (let i = 0; i < 4; i++) key[i] = view.getInt32(at + 4 * i, true)
  const meta = view.getUint32(at + 16, true)
  const what = (meta & EVENT_IS.stored) !== 0 ? 'stored' : (meta & EVENT_IS.release) !== 0 ? 'release' : 'claim'
  return { key, partition: meta & 0xff, what }
}

function readAll<T>(view: DataView, recordBytes: number, read: (view: DataView, at: number) => T): T[] {
  const records: T[] = []
  for (let at = HEAD_BYTES; at < view.byteLength; at += recordBytes) records.push(read(view, at))
  return records
}
