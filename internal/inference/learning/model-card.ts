import { z } from 'zod'
import { GATE_REASONS, type ModelCard } from './model.js'
import { PATTERNS } from './views.js'

/** Schema of a model card, to parse it from an artefact. */

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

export const modelCard = z.object({
  format: z.union([z.literal(1), z.literal(2)]),
  seed: z.int(),
  classes: z
    .array(z.object({ service: z.string(), owner: z.string(), examples: count(), servedShare: share() }))
    .min(1),
  dataWindow: z.object({ fromMs: z.int(), toMs: z.int(), validationFromMs: z.int() }),
  examples: z.object({ resolved: count(), unresolved: count(), overrides: count(), disputes: count() }),
  unknownShare: share(),
  patterns: z
    .array(z.object({ pattern: z.enum(PATTERNS), share: share(), unknownShare: share(), quality: quality.optional() }))
    .optional(),
  weighted: quality,
  audited: quality.optional(),
  gate: z.object({
    isPassed: z.boolean(),
    reasons: z.array(z.enum(GATE_REASONS)),
  }),
  calibrationCurve: z.array(
    z.object({ from: share(), to: share(), n: count(), meanProbability: share(), accuracy: share() }),
  ),
  featureImportance: z.array(z.object({ feature: z.string(), accuracyLost: z.number() })),
}) satisfies z.ZodType<ModelCard>
