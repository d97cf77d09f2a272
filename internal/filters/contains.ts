/**
 * What `contains` means: equal apart from case. Texts are compared in lower case by Unicode's full mapping, which
 * JavaScript and ClickHouse's `lowerUTF8` both take from ICU. A Greek sigma at the end of a word is an ordinary sigma,
 * since a fragment may end where the word does not.
 */
export const foldCase = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ')

/** The same in SQL. @param text an expression */
export const foldCaseSql = (text: string): string => `replaceAll(lowerUTF8(${text}), 'ς', 'σ')`

/** Whether values contain a part, which is folded once for all of them. */
export function containing(part: string): (value: string) => boolean {
  if (part === '') return () => true
  const folded = foldCase(part)
  return (value) => foldCase(value).includes(folded)
}
