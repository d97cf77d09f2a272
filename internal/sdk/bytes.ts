export function isAt(wanted: Uint8Array, bytes: Uint8Array, at: number): boolean {
  for (let place = 0; place < wanted.length; place++) if (bytes[at + place] !== wanted[place]) return false
  return true
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0] as Uint8Array
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
