import { setImmediate as nextTurn } from 'node:timers/promises'
import { createFoldMemory } from '../cohorts/fold-memory.js'
import { type Cell, foldInSteps, type Rollups } from '../cohorts/rollups.js'

/** How long one report folds before another has its turn. */
const SLICE_MS = 20
/** Folded within a second or so; more is folded one after the other. */
const SMALL_CELLS_MAX = 2_000

/**
 * Folds for all reports of a thread, in turns. Of large ones one is under way at a time: each would take as long as all of
 * them, and none of them be done in its time; whoever asks for the same then finds it folded.
 */
export class Folds {
  private readonly memory = createFoldMemory()
  private lastLarge: Promise<unknown> = Promise.resolve()

  /**
   * @param use what is done with it, after which a large one may be let go of
   * @throws the signal's reason when the caller has left
   */
  async during<T>(
    cells: readonly Cell[],
    dimensionCount: number,
    signal: AbortSignal,
    use: (rollups: Rollups) => T,
  ): Promise<T> {
    const fold = async (): Promise<T> => use(await inSlices(foldInSteps(cells, dimensionCount, this.memory), signal))
    if (cells.length <= SMALL_CELLS_MAX) return fold()
    const before = this.lastLarge
    const own = (async () => {
      await before
      signal.throwIfAborted()
      return fold()
    })()
    this.lastLarge = own.catch(() => undefined)
    return own
  }
}

async function inSlices<T>(steps: Generator<undefined, T>, signal: AbortSignal): Promise<T> {
  for (let since = performance.now(); ; ) {
    const step = steps.next()
    if (step.done) return step.value
    if (performance.now() - since < SLICE_MS) continue
    await nextTurn()
    signal.throwIfAborted()
    since = performance.now()
  }
}
