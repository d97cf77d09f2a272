import { useEffect, useState } from 'preact/hooks'

/** As wide as a telephone. */
export const PHONE = '(max-width: 40rem)'

/** Whether a media query holds, as it changes. */
export function useMatches(query: string): boolean {
  const [isMatch, setMatch] = useState(() => matchMedia(query).matches)
  useEffect(() => {
    const list = matchMedia(query)
    const follow = (): void => setMatch(list.matches)
    follow()
    list.addEventListener('change', follow)
    return () => list.removeEventListener('change', follow)
  }, [query])
  return isMatch
}
