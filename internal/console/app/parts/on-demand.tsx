import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ApiProblem } from '../api/ask.js'
import { Failed } from './states.js'

/**
 * A part of a page whose script is loaded when it is first shown, so that the page shows without it.
 *
 * @param what in the words of the page, as within a sentence
 */
export function onDemand<P extends object>(what: string, load: () => Promise<ComponentType<P>>): ComponentType<P> {
  return function OnDemand(props: P) {
    const [Part, setPart] = useState<ComponentType<P> | undefined>()
    const [isBroken, setBroken] = useState(false)
    useEffect(() => {
      load().then(
        (loaded) => setPart(() => loaded),
        () => setBroken(true),
      )
    }, [])
    if (isBroken) {
      const problem = new ApiProblem(0, 'NO_ANSWER', 'Its script could not be loaded.')
      return <Failed what={what} problem={problem} retry={() => location.reload()} />
    }
    return Part === undefined ? <div class="placeholder table-place" aria-hidden="true" /> : <Part {...props} />
  }
}
