/**
 * A name as names are compared: trimmed, in NFC, case folded. Two spellings of one service are then equal texts.
 */
export function comparableName(name: string): string {
  if (isComparable(name)) return name
  // Lower case folds all letters except these two: a capital may be either spelling of them.
  return name.trim().normalize('NFC').toLowerCase().replaceAll('ß', 'ss').replaceAll('ς', 'σ').normalize('NFC')
}

/** Nearly every name: ASCII without capitals, and no space at either end. */
function isComparable(name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i)
    if (code > 0x7e || code < 0x20 || (code >= 0x41 && code <= 0x5a)) return false
  }
  return !name.startsWith(' ') && !name.endsWith(' ')
}
