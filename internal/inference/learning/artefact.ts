import { createHash } from 'node:crypto'
import { z } from 'zod'
import { FEATURE_GROUPS, FEATURE_SLOTS, MODEL_FORM } from './features.js'
import { COMPARISONS, GATE_REASONS, type Model, type ModelCard, type ModelParameters } from './model.js'
import { PATTERNS } from './views.js'

/**
 * Binary format of a model version: `ATLM`, form (u16), length of the header (u32), the header as JSON (card, feature
 * space, names of the contexts, temperature, open classes), the arrays (slots u32; weights, intercepts and offsets
 * f32), and the first 16 bytes of the SHA-256 of everything before. Numbers are little-endian.
 */
const MAGIC = Buffer.from('ATLM')
const PREFIX_BYTES = MAGIC.length + 2 + 4
const CHECKSUM_BYTES = 16

/** Weights are valid only with the features that they were trained on. */
const FEATURE_SPACE = createHash('sha256')
  .update(JSON.stringify([MODEL_FORM, FEATURE_SLOTS, FEATURE_GROUPS]))
  .digest('hex')

/** Rounding can make a sum of floats slightly greater than 1. */
const share = () =>
  z
    .number()
    .min(0)
    .max(1 + 1e-9)
const count = () => z.int().min(0)

const quality = z.object({
  n: count(),
  accuracy: share(),
  heuristicAccuracy: share(),
  majorityAccuracy: share(),
  calibrationError: share(),
  precisionAtFloor: share().optional(),
  shareAtFloor: share(),
  logLoss: z.number().optional(),
  contextLogLoss: z.number().optional(),
})

const modelCard = z.object({
  format: z.literal(MODEL_FORM),
  seed: z.int(),
  classes: z
    .array(z.object({ service: z.string(), owner: z.string(), examples: count(), servedShare: share() }))
    .min(1),
  dataWindow: z.object({ fromMs: z.int(), toMs: z.int(), validationFromMs: z.int() }),
  examples: z.object({ resolved: count(), unresolved: count(), overrides: count(), disputes: count() }),
  unknownShare: share(),
  patterns: z.array(
    z.object({ pattern: z.enum(PATTERNS), share: share(), unknownShare: share(), quality: quality.optional() }),
  ),
  weighted: quality,
  audited: quality.optional(),
  gate: z.object({
    isPassed: z.boolean(),
    reasons: z.array(z.enum(GATE_REASONS)),
    findings: z
      .array(
        z.object({
          reason: z.enum(GATE_REASONS),
          figure: z.number(),
          mustBe: z.enum(COMPARISONS),
          bound: z.number(),
        }),
      )
      .optional(),
  }),
  calibrationCurve: z.array(
    z.object({ from: share(), to: share(), n: count(), meanProbability: share(), accuracy: share() }),
  ),
  featureImportance: z.array(z.object({ feature: z.string(), accuracyLost: z.number() })),
}) satisfies z.ZodType<ModelCard>

const header = z.object({
  card: modelCard,
  feature_space: z.string(),
  slots: z.int().min(0),
  contexts: z.array(z.string()),
  temperature: z.number().positive(),
  open_classes: z.array(z.int().min(0)),
  /** One per context. */
  context_counts: z.array(z.int().min(0)),
})

export type DecodedModel =
  | { readonly kind: 'model'; readonly model: Model }
  | { readonly kind: 'corrupt'; readonly reason: CorruptReason }

export type CorruptReason = 'not_an_artefact' | 'unknown_format' | 'truncated' | 'checksum' | 'inconsistent'

/** Deterministic: the same model gives the same bytes. */
export function encodeModel({ card, parameters }: Model): Uint8Array {
  const text = Buffer.from(
    JSON.stringify({
      card,
      feature_space: FEATURE_SPACE,
      slots: parameters.slots.length,
      contexts: [...parameters.contextOffsets.keys()],
      temperature: parameters.temperature,
      open_classes: parameters.openClasses,
      context_counts: [...parameters.contextOffsets.keys()].map((name) => parameters.contextCounts.get(name) ?? 0),
    }),
  )
  const arrays = [parameters.slots, parameters.weights, parameters.intercepts, ...parameters.contextOffsets.values()]
  const size = PREFIX_BYTES + text.length + 4 * arrays.reduce((sum, { length }) => sum + length, 0)
  const artefact = new Uint8Array(size + CHECKSUM_BYTES)
  const bytes = Buffer.from(artefact.buffer)
  MAGIC.copy(bytes)
  bytes.writeUInt16LE(MODEL_FORM, MAGIC.length)
  bytes.writeUInt32LE(text.length, MAGIC.length + 2)
  text.copy(bytes, PREFIX_BYTES)
  let at = PREFIX_BYTES + text.length
  for (const array of arrays) {
    for (const value of array) {
      at = array instanceof Uint32Array ? bytes.writeUInt32LE(value, at) : bytes.writeFloatLE(value, at)
    }
  }
  checksumOf(bytes.subarray(0, size)).copy(bytes, size)
  return artefact
}

/** Accepts any bytes; never throws. */
export function decodeModel(bytes: Uint8Array): DecodedModel {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (!buffer.subarray(0, MAGIC.length).equals(MAGIC)) return corrupt('not_an_artefact')
  if (buffer.length < PREFIX_BYTES + CHECKSUM_BYTES) return corrupt('truncated')
  if (buffer.readUInt16LE(MAGIC.length) !== MODEL_FORM) return corrupt('unknown_format')
  const size = buffer.length - CHECKSUM_BYTES
  const textBytes = buffer.readUInt32LE(MAGIC.length + 2)
  if (PREFIX_BYTES + textBytes > size) return corrupt('truncated')
  if (!checksumOf(buffer.subarray(0, size)).equals(buffer.subarray(size))) return corrupt('checksum')
  const head = header.safeParse(parsed(buffer.toString('utf8', PREFIX_BYTES, PREFIX_BYTES + textBytes)))
  if (!head.success || head.data.feature_space !== FEATURE_SPACE) return corrupt('inconsistent')
  const { card, slots, contexts, temperature, open_classes: openClasses, context_counts: counts } = head.data
  const columns = card.classes.length + 1
  if (size !== PREFIX_BYTES + textBytes + 4 * (slots + (slots + 1 + contexts.length) * columns)) {
    return corrupt('inconsistent')
  }
  let at = PREFIX_BYTES + textBytes
  const floats = (length: number): Float32Array => {
    const array = Float32Array.from({ length }, (_, i) => buffer.readFloatLE(at + 4 * i))
    at += 4 * length
    return array
  }
  const slotNumbers = Uint32Array.from({ length: slots }, (_, i) => buffer.readUInt32LE(at + 4 * i))
  at += 4 * slots
  const parameters: ModelParameters = {
    slots: slotNumbers,
    weights: floats(slots * columns),
    intercepts: floats(columns),
    contextOffsets: new Map(contexts.map((name) => [name, floats(columns)])),
    temperature,
    openClasses,
    contextCounts: new Map(contexts.flatMap((name, i) => (counts[i] ? [[name, counts[i]] as const] : []))),
  }
  return areUsable(parameters) ? { kind: 'model', model: { card, parameters } } : corrupt('inconsistent')
}

const corrupt = (reason: CorruptReason): DecodedModel => ({ kind: 'corrupt', reason })

const checksumOf = (bytes: Uint8Array): Buffer =>
  createHash('sha256').update(bytes).digest().subarray(0, CHECKSUM_BYTES)

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // the schema rejects it
  }
}

/** False when the parameters would give a NaN or infinite prediction, or a read past the end of an array. */
const areUsable = ({ slots, weights, intercepts, contextOffsets, openClasses }: ModelParameters): boolean =>
  slots.every((slot) => slot < FEATURE_SLOTS) &&
  openClasses.every((c) => c < intercepts.length - 1) &&
  [weights, intercepts, ...contextOffsets.values()].every((array) => array.every(Number.isFinite))
