import type { Checkpoint, RecentMessages } from './checkpoint.js'

/** How much of its own mailbox the next owner of a partition reads again: the newest, within both. */
export interface ReadAgain {
  readonly windowMs: number
  readonly bytesMax: number
}

/** The window and the bytes are cut in so many parts. Few, since the checkpoint is written several times per batch. */
const PARTS = 6

/**
 * The recent messages after one more batch. Of those that are left out, each is older than the window, or there are
 * `bytesMax` newer ones.
 *
 * @param known those of the checkpoint before the batch
 */
export function withBatch(
  known: readonly RecentMessages[],
  batch: RecentMessages,
  { windowMs, bytesMax }: ReadAgain,
): readonly RecentMessages[] {
  const last = known.at(-1)
  const isFull = last === undefined || batch.atMs - last.atMs >= windowMs / PARTS || last.bytes >= bytesMax / PARTS
  const recent = isFull ? [...known, batch] : [...known.slice(0, -1), { ...last, bytes: last.bytes + batch.bytes }]
  let bytes = recent.reduce((sum, one) => sum + one.bytes, 0)
  return recent.filter((one, i) => {
    const next = recent[i + 1]
    if (next === undefined) return true
    bytes -= one.bytes
    return next.atMs > batch.atMs - windowMs && bytes < bytesMax
  })
}

/** Where the messages begin that the next owner reads again; undefined when it needs none. */
export const firstRecent = ({ recent: [first] = [] }: Pick<Checkpoint, 'done' | 'recent'>): number | undefined =>
  first && first.after + 1
