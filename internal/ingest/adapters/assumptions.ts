/** Codes of what was inferred, as an event states them; those that are absent or empty are left out. */
export function assumptionsOf(...codes: readonly (string | false | undefined)[]): string | undefined {
  const stated = codes.filter((code) => typeof code === 'string' && code !== '')
  return stated.length === 0 ? undefined : stated.join()
}
