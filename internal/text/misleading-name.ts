/**
 * Names that look like another name: characters that nobody sees, or letters of several scripts, such as a Cyrillic a
 * in a Latin word. By the scripts of Unicode itself (UTS 39, "highly restrictive"): one script, or one of the
 * combinations in which Chinese, Japanese and Korean are written beside Latin.
 */

const NAME_DOUBTS = ['hidden_characters', 'mixed_scripts'] as const
export type NameDoubt = (typeof NAME_DOUBTS)[number]

/** Why a name may be taken for another one; undefined for nearly all. */
export function nameDoubt(name: string): NameDoubt | undefined {
  if (isAscii(name)) return undefined
  const composed = name.normalize('NFC')
  if (HIDDEN.test(composed)) return 'hidden_characters'
  return ALLOWED.some((scripts) => scripts.test(composed)) || !MIXED.test(composed) ? undefined : 'mixed_scripts'
}

function isAscii(name: string): boolean {
  for (let i = 0; i < name.length; i++) if (name.charCodeAt(i) > 0x7e) return false
  return true
}

/** Zero-width characters, direction controls, others without a glyph; except the one that joins emoji. */
const HIDDEN = /(?!\uFE0F)[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]|(?<!\p{Emoji})\uFE0F/u

/** Scripts in everyday use (UAX 31, recommended scripts), each alone. */
const SCRIPTS = [
  'Latin',
  'Arabic',
  'Armenian',
  'Bengali',
  'Cyrillic',
  'Devanagari',
  'Ethiopic',
  'Georgian',
  'Greek',
  'Gujarati',
  'Gurmukhi',
  'Hebrew',
  'Kannada',
  'Khmer',
  'Lao',
  'Malayalam',
  'Myanmar',
  'Oriya',
  'Sinhala',
  'Tamil',
  'Telugu',
  'Thaana',
  'Thai',
  'Tibetan',
] as const
/** Scripts that one language writes together. */
const TOGETHER = [
  ['Latin', 'Han', 'Hiragana', 'Katakana'],
  ['Latin', 'Han', 'Bopomofo'],
  ['Latin', 'Han', 'Hangul'],
] as const

const only = (scripts: readonly string[]): RegExp =>
  new RegExp(`^[\\p{scx=Common}\\p{scx=Inherited}${scripts.map((script) => `\\p{scx=${script}}`).join('')}]*$`, 'u')

const ALLOWED: readonly RegExp[] = [...SCRIPTS.map((script) => only([script])), ...TOGETHER.map(only)]

/** A letter of a script in everyday use: a name that has none is of one rare script, or of rare scripts alone. */
const MIXED = new RegExp(`[${[...SCRIPTS, ...TOGETHER.flat()].map((script) => `\\p{sc=${script}}`).join('')}]`, 'u')
