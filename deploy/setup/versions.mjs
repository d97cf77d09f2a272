/** Versions as programs print them, for example `v20.11.1` or `nats-server: v2.12.0-beta.1`. */

/**
 * @param {string} text
 * @returns {readonly [number, number, number] | undefined} the first version in the text; a missing patch is 0
 */
export function parseVersion(text) {
  const found = /(?:^|[^\d.])v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(text)
  return found === null ? undefined : [Number(found[1]), Number(found[2]), Number(found[3] ?? 0)]
}

/**
 * @param {string} text a text with a version in it
 * @param {string} least for example `20.11`
 * @returns {boolean} false also for a text without a version
 */
export function isAtLeast(text, least) {
  const version = parseVersion(text)
  const wanted = parseVersion(least)
  if (version === undefined || wanted === undefined) return false
  for (const [i, number] of version.entries()) {
    if (number !== wanted[i]) return number > wanted[i]
  }
  return true
}
