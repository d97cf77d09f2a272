/** What a key may send. */
export function layersShown(layers: readonly string[] | null): string {
  if (layers === null) return 'all calls'
  return layers.length === 0 ? 'no calls' : `calls of ${layers.join(', ')}`
}
