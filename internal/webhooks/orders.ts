/** An order to replay events, executed in batches; a message of `replays.asked`, as JSON. */
export interface ReplayOrder {
  /** Derived from the request. */
  readonly id: string
  readonly tenant_id: string
  readonly endpoint_id: string
  readonly selection: ReplaySelection
  /** The first sequence of the next batch. */
  readonly next: number
  /** The last sequence to replay; fixed when the replay was requested. */
  readonly until: number
}

export type ReplaySelection =
  | { readonly kind: 'event'; readonly event_id: string }
  /** Events that the endpoint subscribes to, within these times if given; RFC 3339 in UTC. */
  | { readonly kind: 'range'; readonly from?: string; readonly before?: string }
  | { readonly kind: 'dead_letters' }

/** Message id of the batch that starts at `next`, so that it is stored once. */
export const replayMessageId = ({ id, next }: ReplayOrder): string => `${id}.${next}`
