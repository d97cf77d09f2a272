/**
 * The pulse of a process: what looks after something twice per second does so in one turn, so that an idle process is
 * woken once for all of them. It does not keep the process running.
 */
export const PULSE_MS = 500

/**
 * Looks with each pulse, but not while the last look takes longer.
 *
 * @returns ends it
 */
type OnPulse = (look: () => void | Promise<void>) => () => void

/** A pulse by itself, which a test needs. */
export function createPulse(): OnPulse {
  const beats = new Set<() => void>()
  let timer: NodeJS.Timeout | undefined
  return (look) => {
    let isLooking = false
    const beat = async (): Promise<void> => {
      if (isLooking) return
      isLooking = true
      await look()
      isLooking = false
    }
    beats.add(beat)
    timer ??= setInterval(() => {
      for (const each of beats) each()
    }, PULSE_MS).unref()
    return () => {
      beats.delete(beat)
      if (beats.size > 0) return
      clearInterval(timer)
      timer = undefined
    }
  }
}

/** The process's own. */
export const onPulse = createPulse()
