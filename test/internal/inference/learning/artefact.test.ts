import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeModel, encodeModel } from '../../../../internal/inference/learning/artefact.js'
import type { Model } from '../../../../internal/inference/learning/model.js'
import { predict } from '../../../../internal/inference/learning/predict.js'
import { train } from '../../../../internal/inference/learning/train.js'
import { recordsOf, traffic } from './traffic.js'

const EVENTS = traffic(1_500, 'artefact')

function trained(): Model {
  const result = train(recordsOf(EVENTS), { seed: 1 })
  if (result.kind !== 'trained') throw new Error('training found too few examples')
  return result.model
}

const MODEL = trained()
const BYTES = encodeModel(MODEL)

test('a decoded model equals the encoded one and gives the same predictions', () => {
  const decoded = decodeModel(BYTES)

  if (decoded.kind !== 'model') throw new Error(decoded.reason)
  expect(decoded.model.card).toEqual(JSON.parse(JSON.stringify(MODEL.card)))
  expect(encodeModel(decoded.model)).toEqual(BYTES)
  const facts = EVENTS.slice(0, 100).map(({ facts }) => facts)
  expect(predict(decoded.model, facts)).toEqual(predict(MODEL, facts))
})

test('an artefact with any changed byte is corrupt', () => {
  fc.assert(
    fc.property(fc.nat(BYTES.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const bytes = BYTES.slice()
      bytes[at] = (bytes[at] ?? 0) ^ change

      expect(decodeModel(bytes).kind).toBe('corrupt')
    }),
  )
})

test('truncated artefacts and other bytes are corrupt, without an exception', () => {
  fc.assert(
    fc.property(fc.nat(BYTES.length - 1), (length) => {
      expect(decodeModel(BYTES.subarray(0, length)).kind).toBe('corrupt')
    }),
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(decodeModel(bytes).kind).toBe('corrupt')
      expect(decodeModel(Buffer.concat([Buffer.from('ATLM'), bytes])).kind).toBe('corrupt')
    }),
  )
  expect(decodeModel(new Uint8Array(0))).toEqual({ kind: 'corrupt', reason: 'not_an_artefact' })
})

test('an artefact of another format is reported as unknown_format', () => {
  const later = Buffer.from(BYTES)
  later.writeUInt16LE(3, 4)

  expect(decodeModel(later)).toEqual({ kind: 'corrupt', reason: 'unknown_format' })
})
