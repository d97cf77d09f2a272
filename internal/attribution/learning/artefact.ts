import type { Model } from './model.js'

export type DecodedModel =
  | { readonly kind: 'model'; readonly model: Model }
  | { readonly kind: 'corrupt'; readonly reason: CorruptReason }

export type CorruptReason = 'not_an_artefact' | 'unknown_format' | 'truncated' | 'checksum' | 'inconsistent'

/** The bytes of a version, the same for the same model. */
export function encodeModel(_model: Model): Uint8Array {
  throw new Error('not written yet')
}

/** Reads any bytes; never throws. */
export function decodeModel(_bytes: Uint8Array): DecodedModel {
  return { kind: 'corrupt', reason: 'not_an_artefact' }
}
