/** A UUID that is the same for the same text: an answer that is fetched again is the same event. */
export function derivedId(text: string): string {
  const words = SEEDS.map((seed) => hashOf(text, seed).toString(16).padStart(8, '0')).join('')
  // Version 8 and variant of RFC 9562: made of something else than time or chance.
  const hex = `${words.slice(0, 12)}8${words.slice(13, 16)}8${words.slice(17)}`
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

const SEEDS = [0x811c9dc5, 0x9e3779b9, 0x85ebca6b, 0xc2b2ae35]

/** FNV-1a, with the mixing of MurmurHash at its end. */
function hashOf(text: string, seed: number): number {
  let hash = seed
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}
