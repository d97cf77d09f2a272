/**
 * Which colour of the palette a name has. It follows from the name, so that it is the same on every page and for
 * everybody; where two names of one chart would have the same, the one that this browser has known for longer keeps
 * it, and the other has another one from then on.
 */

/** Colours of the palette (`--c1` and so on). */
export const COLOURS = 8
const KNOWN_MAX = 2_000

/** Colours by the hashes of names, those that were met first in front. */
type KnownColours = ReadonlyMap<string, number>

/**
 * @param names of one chart, no more than there are colours
 * @returns the colour of each, 1 to `COLOURS`, no two alike; and what is known from then on
 */
export function coloursOf(names: readonly string[], known: KnownColours) {
  const keys = new Map(names.map((name) => [name, hashOf(name)]))
  const age = new Map([...known.keys()].map((key, at) => [key, at]))
  const rank = (name: string): number => age.get(keyOf(name)) ?? KNOWN_MAX
  const keyOf = (name: string): string => keys.get(name) ?? ''
  const inOrder = [...keys.keys()].sort((one, other) => rank(one) - rank(other) || (keyOf(one) < keyOf(other) ? -1 : 1))
  const taken = new Set<number>()
  const colours = new Map<string, number>()
  const next = new Map(known)
  for (const name of inOrder) {
    const key = keyOf(name)
    let colour = next.get(key) ?? (Number.parseInt(key, 36) % COLOURS) + 1
    while (taken.has(colour) && taken.size < COLOURS) colour = (colour % COLOURS) + 1
    taken.add(colour)
    colours.set(name, colour)
    next.set(key, colour)
  }
  const forgotten = [...next.keys()].slice(0, Math.max(0, next.size - KNOWN_MAX))
  for (const key of forgotten) next.delete(key)
  return { colours: colours as ReadonlyMap<string, number>, known: next as KnownColours }
}

/** FNV-1a of 32 bits: a browser need not keep the names themselves. */
function hashOf(name: string): string {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash.toString(36)
}

/** As a browser keeps it. */
export const knownText = (known: KnownColours): string => JSON.stringify([...known])

/** @returns nothing known for a text that is none of ours */
export function knownOf(text: string | null): KnownColours {
  try {
    const pairs: unknown = JSON.parse(text ?? '[]')
    if (!Array.isArray(pairs)) return new Map()
    return new Map(
      pairs.filter(
        (pair): pair is [string, number] =>
          Array.isArray(pair) && typeof pair[0] === 'string' && pair[1] >= 1 && pair[1] <= COLOURS,
      ),
    )
  } catch {
    return new Map()
  }
}
