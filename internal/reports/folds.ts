import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { createFoldMemory } from '../cohorts/fold-memory.js'
import { type Cell, foldInSteps, type Rollups } from '../cohorts/rollups.js'

/** Time that one report folds before it yields to others. */
const FOLD_QUANTUM_MS = 20
/** Up to this size a fold takes about a second; larger folds run one after the other. */
const SMALL_CELLS_MAX = 2_000

/**
 * Folds for all reports of a thread, cooperatively. Only one large fold runs at a time: if they shared the thread, each
 * would take as long as all together and none would meet its time limit. A retry finds the finished fold in memory.
 */
export class Folds {
  private readonly memory = createFoldMemory()
  private lastLarge: Promise<unknown> = Promise.resolve()

  /**
   * @param use consumes the rollups; large ones may be released afterwards
   * @throws the signal's reason when the request was cancelled
   */
  async during<T>(
    cells: readonly Cell[],
    dimensionCount: number,
    signal: AbortSignal,
    use: (rollups: Rollups) => T,
  ): Promise<T> {
    const fold = async (): Promise<T> =>
      use(await cooperatively(foldInSteps(cells, dimensionCount, this.memory), signal))
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

async function cooperatively<T>(steps: Generator<undefined, T>, signal: AbortSignal): Promise<T> {
  for (let since = performance.now(); ; ) {
    const step = steps.next()
    if (step.done) return step.value
    if (performance.now() - since < FOLD_QUANTUM_MS) continue
    await yieldToEventLoop()
    signal.throwIfAborted()
    since = performance.now()
  }
}
