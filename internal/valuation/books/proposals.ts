import { createHash } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import type { ObjectStore } from '@nats-io/obj'
import { type BookFile, packBook, unpackBook } from './book-version.js'

const BOOK_KINDS = ['prices', 'energy'] as const
export type BookKind = (typeof BOOK_KINDS)[number]

/** A book that somebody has proposed: no call is valued by it until a person accepts it. */
export interface StoredProposal {
  readonly id: string
  readonly kind: BookKind
  readonly as_of: string
  readonly proposed_at: string
  /** Of the file in the object store of its kind, which has the same name. */
  readonly sha256: string
  readonly rows: number
  /** The book that it was made from and compared with: the id of an imported one, else the `as_of` of the included one. */
  readonly base: string
  /** Rows of the source that are not in the proposal, and why; the first ones. */
  readonly held: readonly DoubtedRow[]
  /** Absent: `held` has all of them. */
  readonly held_count?: number
  /** Of a price book: from which it is in force. Its undated changes have this day. */
  readonly effective_from?: string
  /** Of a price book: by tenant, the unpriced calls of the 30 days before that it has a price for. */
  readonly newly_priced?: Readonly<Record<string, NewlyPriced>>
  /** Of a price book: what it would have changed in the records of the 30 days before. */
  readonly effect?: ProposalEffect
}

export interface ProposalEffect {
  readonly from: string
  readonly to: string
  /** By provider and model, the largest first. */
  readonly costs: readonly CostChange[]
  readonly newlyPriced: { readonly calls: number; readonly cost_usd: string }
}

export interface CostChange {
  readonly provider: string
  readonly served_model: string
  readonly records: number
  readonly old_cost_usd: string
  readonly new_cost_usd: string
  readonly difference_usd: string
  readonly newly_priced: number
  readonly newly_unpriced: number
}

export interface NewlyPriced {
  readonly calls: number
  readonly cost_usd: string
  /** Distinct identities; 0 if none of the calls states one. */
  readonly people: number
}

export interface DoubtedRow {
  readonly name: string
  readonly doubts: readonly string[]
}

type ProposalFields = Pick<StoredProposal, 'kind' | 'base' | 'held' | 'effective_from' | 'newly_priced' | 'effect'>

/** Of a proposal, those with most calls; its entry stays far below the 1 MB of a message. */
export const NEWLY_PRICED_TENANTS_MAX = 4_000
/** Likewise of the rows that were held, and of the models whose cost would change. */
export const PROPOSAL_ROWS_MAX = 1_000

/** Of each kind; the oldest one makes room for a new one. */
export const PROPOSALS_MAX = 20

/**
 * Keeps a proposal. Safe to repeat: the same book from the same base is one proposal.
 *
 * @param files the object store of the kind's books
 */
export async function keepProposal(
  bucket: KV,
  files: ObjectStore,
  file: BookFile,
  { nowMs, held, effect, ...stated }: ProposalFields & { readonly nowMs: number },
): Promise<StoredProposal> {
  const { bytes, sha256 } = packBook(file)
  const id = `proposal_${createHash('sha256').update(`${stated.kind} ${stated.base} ${sha256}`).digest('hex').slice(0, 24)}`
  const { as_of, models } = file
  const proposal: StoredProposal = {
    ...stated,
    held: held.slice(0, PROPOSAL_ROWS_MAX),
    ...(held.length > PROPOSAL_ROWS_MAX && { held_count: held.length }),
    ...(effect && { effect: { ...effect, costs: effect.costs.slice(0, PROPOSAL_ROWS_MAX) } }),
    id,
    as_of,
    proposed_at: new Date(nowMs).toISOString(),
    sha256,
    rows: models.length,
  }
  await files.putBlob({ name: id }, bytes)
  await bucket.put(id, JSON.stringify(proposal))
  const ofKind = (await keptProposals(bucket)).filter((each) => each.kind === stated.kind)
  for (const { id: old } of ofKind.slice(PROPOSALS_MAX)) {
    await bucket.delete(old)
    await files.delete(old)
  }
  return proposal
}

/** The newest first. */
export async function keptProposals(bucket: KV): Promise<StoredProposal[]> {
  const proposals: StoredProposal[] = []
  for await (const key of await bucket.keys()) {
    const entry = await bucket.get(key)
    if (entry?.operation === 'PUT') proposals.push(entry.json<StoredProposal>())
  }
  const orderOf = ({ proposed_at, id }: StoredProposal): string => `${proposed_at} ${id}`
  return proposals.sort((one, other) => (orderOf(one) < orderOf(other) ? 1 : -1))
}

export interface KeptProposal<File> {
  readonly proposal: StoredProposal
  readonly file: File
}

/** @returns undefined when there is no such proposal of this kind */
export async function readProposal<File extends BookFile>(
  bucket: KV,
  files: ObjectStore,
  kind: BookKind,
  id: string,
): Promise<KeptProposal<File> | undefined> {
  const entry = await bucket.get(id)
  if (entry?.operation !== 'PUT') return undefined
  const proposal = entry.json<StoredProposal>()
  if (proposal.kind !== kind) return undefined
  const bytes = await files.getBlob(id)
  if (bytes === null) throw new Error(`the file of ${id} is missing`)
  return { proposal, file: unpackBook<File>(bytes, proposal) }
}
