/** An order to deliver events once more, a piece at a time; a message of `replays.asked`, as JSON. */
export interface ReplayOrder {
  /** Of the request that gave it. */
  readonly id: string
  readonly tenant_id: string
  readonly endpoint_id: string
  readonly selection: ReplaySelection
  /** The first sequence that is still to be looked at. */
  readonly next: number
  /** The last one, of when it was asked for. */
  readonly until: number
}

export type ReplaySelection =
  | { readonly kind: 'event'; readonly event_id: string }
  /** Those that the endpoint subscribes to, between these times where they are given; RFC 3339 in UTC. */
  | { readonly kind: 'range'; readonly from?: string; readonly before?: string }
  | { readonly kind: 'dead_letters' }

/** Names the piece that begins at `next`, so that it is taken once. */
export const replayMessageId = ({ id, next }: ReplayOrder): string => `${id}.${next}`
