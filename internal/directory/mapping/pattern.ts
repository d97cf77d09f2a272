import type { Match } from './mapping-rule.js'

/**
 * Whether a text matches a pattern as a whole. No regular expressions: the time is at most the product of both lengths, each of
 * which is bounded (256 bytes).
 */
export function matches(kind: Match, pattern: string, text: string): boolean {
  switch (kind) {
    case 'exact':
      return text === pattern
    case 'prefix':
      return text.startsWith(pattern)
    case 'glob':
      return matchesGlob(pattern, text)
  }
}

/** `*` stands for any characters, also none; `?` for one UTF-16 unit. */
function matchesGlob(pattern: string, text: string): boolean {
  let at = 0
  let next = 0
  // Where to go on when the characters behind the last star do not match.
  let star = -1
  let afterStar = 0
  while (at < text.length) {
    if (pattern[next] === '*') {
      star = next++
      afterStar = at
    } else if (next < pattern.length && (pattern[next] === '?' || pattern[next] === text[at])) {
      next++
      at++
    } else if (star >= 0) {
      next = star + 1
      at = ++afterStar
    } else {
      return false
    }
  }
  while (pattern[next] === '*') next++
  return next === pattern.length
}
