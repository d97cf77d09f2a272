/** Disk problems that do not stop the spool: for the log and an alert. */
export type SpoolIncident =
  /** The end of the last segment, written when the process died; it was never acknowledged as stored. */
  | { readonly kind: 'torn_tail_cut'; readonly segment: number; readonly offset: number; readonly bytes: number }
  /** Records that are not as they were written, and are lost. */
  | { readonly kind: 'damage_skipped'; readonly segment: number; readonly offset: number; readonly bytes: number }
  /** The drain continues, but after a restart it repeats the deliveries made since. */
  | { readonly kind: 'position_not_saved'; readonly error: Error }

export const asError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)))
