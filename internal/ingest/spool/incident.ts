/** What goes wrong on disk without stopping the spool: for the log and an alert. */
export type SpoolIncident =
  /** The end of the last segment, written when the process died; nobody was told that it is stored. */
  | { readonly kind: 'torn_tail_cut'; readonly segment: number; readonly offset: number; readonly bytes: number }
  /** Records that are not as they were written, and are lost. */
  | { readonly kind: 'damage_skipped'; readonly segment: number; readonly offset: number; readonly bytes: number }
  /** The drain goes on, but after a restart it repeats what it has delivered since. */
  | { readonly kind: 'position_not_saved'; readonly error: Error }

export const asError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)))
