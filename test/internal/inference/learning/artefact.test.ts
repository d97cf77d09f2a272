import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeModel, encodeModel } from '../../../../internal/inference/learning/artefact.js'
import type { Model } from '../../../../internal/inference/learning/model.js'
import { predict } from '../../../../internal/inference/learning/predict.js'
import { train } from '../../../../internal/inference/learning/train.js'
import FORM_1 from './model-of-form-1.json' with { type: 'json' }
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

test('an artefact of a later format is reported as unknown_format', () => {
  const later = Buffer.from(BYTES)
  later.writeUInt16LE(3, 4)

  expect(decodeModel(later)).toEqual({ kind: 'corrupt', reason: 'unknown_format' })
})

test('a version of form 1, as an earlier release stored it, loads and predicts what it did', () => {
  const bytes = new Uint8Array(Buffer.from(FORM_1.bytes, 'base64'))

  const decoded = decodeModel(bytes)

  if (decoded.kind !== 'model') throw new Error(decoded.reason)
  const predictions = predict(decoded.model, FORM_1.facts)
  for (const [i, { probability, ...stored }] of FORM_1.predictions.entries()) {
    expect(predictions[i]?.probability).toBeCloseTo(probability, 12)
    expect(predictions[i]).toMatchObject({ label: stored.label, confidence: stored.confidence })
    expect(predictions[i]?.unknownProbability).toBeCloseTo(stored.unknownProbability, 12)
  }
  expect(Buffer.from(encodeModel(decoded.model))).toEqual(Buffer.from(bytes))
})
