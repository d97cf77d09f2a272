/** What waits when a process of Node ends is sent first. On the edge, none of this is there. */
import { quietly } from './event.js'

interface NodeProcess {
  on(event: string, listener: (signal: Signal) => void): void
  prependListener(event: string, listener: (signal: Signal) => void): void
  off(event: string, listener: (signal: Signal) => void): void
  listenerCount(event: string): number
  kill(pid: number, signal: string): void
  readonly pid: number
}
type Signal = (typeof SIGNALS)[number]
const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** Something that sends, while it has something to send. */
export interface Waiting {
  /** Takes what has not ended as far as it came. */
  readonly end: () => void
  /** Sends in bounded time. */
  readonly send: () => Promise<void>
  /** Keeps what was not sent in time, or says that it is lost. */
  readonly keep: () => void
  /** The same when nothing asynchronous runs any more. */
  readonly sendNow: () => void
}

interface Ends {
  readonly waiting: Set<Waiting>
  watch(): void
  unwatch(): void
}

function endsOf(node: NodeProcess): Ends {
  const waiting = new Set<Waiting>()
  let isWatching = false
  let isWatchingSignals = false
  const sendAll = async (): Promise<void> => void (await Promise.all([...waiting].map(({ send }) => send())))
  // Once only: what cannot be sent must not keep the process alive.
  const endAll = (): void => {
    for (const { end } of waiting) end()
  }
  const onBeforeExit = (): void => {
    node.off('beforeExit', onBeforeExit)
    endAll()
    void sendAll()
  }
  const onExit = (): void => {
    endAll()
    for (const { sendNow } of waiting) quietly(sendNow)
  }
  /** An application that does not handle the signal ends by it as before, a little later. Another one has time. */
  const onSignal = (signal: Signal): void => {
    unwatchSignals()
    if (node.listenerCount(signal) > 0) return void sendAll()
    endAll()
    void sendAll().finally(() => {
      for (const { keep } of waiting) quietly(keep)
      node.kill(node.pid, signal)
    })
  }
  const unwatchSignals = (): void => {
    isWatchingSignals = false
    for (const signal of SIGNALS) node.off(signal, onSignal)
  }
  const watch = (): void => {
    if (!isWatching) {
      node.on('beforeExit', onBeforeExit)
      node.on('exit', onExit)
    }
    // Before those of the application: one that listens once would not be seen any more. After a signal that it handled,
    // its next call is waited for as the first was.
    if (!isWatchingSignals) for (const signal of SIGNALS) node.prependListener(signal, onSignal)
    isWatching = isWatchingSignals = true
  }
  const unwatch = (): void => {
    isWatching = false
    node.off('beforeExit', onBeforeExit)
    node.off('exit', onExit)
    unwatchSignals()
  }
  return { waiting, watch, unwatch }
}

const node = (globalThis as { process?: Partial<NodeProcess> }).process
/** One for the whole process: of two copies of the library, one would take the other's listener for the application's. */
const KEY = Symbol.for('attribution-service.ends')
const shared = globalThis as unknown as Record<symbol, Ends | undefined>
if (typeof node?.prependListener === 'function' && typeof node.off === 'function')
  shared[KEY] ??= endsOf(node as NodeProcess)
const ends = shared[KEY]

export function watchEnd(waiting: Waiting): void {
  ends?.waiting.add(waiting)
  ends?.watch()
}

export function unwatchEnd(waiting: Waiting): void {
  if (ends?.waiting.delete(waiting) === true && ends.waiting.size === 0) ends.unwatch()
}
