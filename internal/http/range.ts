/** The byte range that a request asks for (RFC 9110 section 14). */
export type WantedRange =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly first: number; readonly last: number }
  | { readonly kind: 'unsatisfiable' }

const WHOLE: WantedRange = { kind: 'whole' }

/**
 * Parses a Range header. Several ranges, other units and malformed values select the whole representation, as the
 * standard allows.
 *
 * @param header empty when absent
 * @param ifRange the If-Range header; unless it equals the strong `etag`, the client holds another representation
 * @param size of the whole, bytes
 */
export function wantedRange(header: string, ifRange: string, etag: string, size: number): WantedRange {
  if (header === '' || (ifRange !== '' && ifRange !== etag)) return WHOLE
  const match = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header)
  if (match === null) return WHOLE
  const [, from = '', to = ''] = match
  if (from === '' && to === '') return WHOLE
  if (from === '') {
    const suffix = Number(to)
    return suffix === 0 || size === 0
      ? { kind: 'unsatisfiable' }
      : { kind: 'part', first: Math.max(0, size - suffix), last: size - 1 }
  }
  const first = Number(from)
  const last = to === '' ? size - 1 : Math.min(Number(to), size - 1)
  if (to !== '' && Number(to) < first) return WHOLE
  return first >= size ? { kind: 'unsatisfiable' } : { kind: 'part', first, last }
}
