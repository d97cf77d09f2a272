import { z } from 'zod'

/** Which names a model of genai-prices has: a tree of clauses. The first model of a provider that matches counts. */
export type Clause =
  | { readonly equals: string }
  | { readonly starts_with: string }
  | { readonly ends_with: string }
  | { readonly contains: string }
  | { readonly regex: string }
  | { readonly or: readonly Clause[] }
  | { readonly and: readonly Clause[] }

const text = z.string().min(1).max(512)
const clauses = z.array(z.lazy(() => clause)).max(256)
export const clause: z.ZodType<Clause> = z.union([
  z.object({ equals: text }),
  z.object({ starts_with: text }),
  z.object({ ends_with: text }),
  z.object({ contains: text }),
  z.object({ regex: text }),
  z.object({ or: clauses }),
  z.object({ and: clauses }),
])

/** `exact`: the clause lists the name itself; `loose`: it describes a family of names. */
export type Fit = 'exact' | 'loose' | undefined

/** @param name in lower case */
export function fitOf(one: Clause, name: string): Fit {
  if ('equals' in one) return one.equals.toLowerCase() === name ? 'exact' : undefined
  if ('starts_with' in one) return looseIf(name.startsWith(one.starts_with.toLowerCase()))
  if ('ends_with' in one) return looseIf(name.endsWith(one.ends_with.toLowerCase()))
  if ('contains' in one) return looseIf(name.includes(one.contains.toLowerCase()))
  if ('regex' in one) return fitOfPattern(one.regex, name)
  if ('or' in one) {
    const fits = one.or.map((each) => fitOf(each, name))
    return fits.includes('exact') ? 'exact' : looseIf(fits.includes('loose'))
  }
  return looseIf(one.and.length > 0 && one.and.every((each) => fitOf(each, name) !== undefined))
}

/** The names that a clause lists in full. */
export function listedNames(one: Clause): readonly string[] {
  if ('equals' in one) return [one.equals]
  return 'or' in one ? one.or.flatMap(listedNames) : []
}

const looseIf = (isFit: boolean): Fit => (isFit ? 'loose' : undefined)

/** A repeated group can take exponential time on a name that does not match, many repetitions a high power of it. */
const REPEATED_GROUP = /\)[*+{]/
const REPETITION = /[*+]|\{\d+,\}/g
const REPETITIONS_MAX = 3
const PATTERNS_MAX = 4096
const patterns = new Map<string, RegExp | undefined>()

/** One that describes the whole name, such as that of a dated snapshot, names the model. */
function fitOfPattern(source: string, name: string): Fit {
  if (!patterns.has(source)) {
    if (patterns.size >= PATTERNS_MAX) patterns.clear()
    patterns.set(source, compiled(source))
  }
  if (patterns.get(source)?.test(name) !== true) return undefined
  return source.startsWith('^') && source.endsWith('$') ? 'exact' : 'loose'
}

/** The patterns are Python's; one that JavaScript does not know matches nothing. */
function compiled(source: string): RegExp | undefined {
  const repetitions = source.match(REPETITION)?.length ?? 0
  if (REPEATED_GROUP.test(source) || repetitions > REPETITIONS_MAX) return undefined
  try {
    return new RegExp(source)
  } catch {
    return undefined
  }
}
