import { z } from 'zod'
import type { ModelCard } from './model.js'

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
})

export const modelCard = z.object({
  format: z.literal(1),
  seed: z.int(),
  classes: z
    .array(z.object({ service: z.string(), owner: z.string(), examples: count(), servedShare: share() }))
    .min(1),
  dataWindow: z.object({ fromMs: z.int(), toMs: z.int(), validationFromMs: z.int() }),
  examples: z.object({ resolved: count(), unresolved: count(), overrides: count(), disputes: count() }),
  unknownShare: share(),
  weighted: quality,
  audited: quality.optional(),
  gate: z.object({
    isPassed: z.boolean(),
    reasons: z.array(
      z.enum([
        'beats_no_baseline',
        'miscalibrated',
        'beats_no_baseline_on_audits',
        'miscalibrated_on_audits',
        'too_few_validation_examples',
      ]),
    ),
  }),
  calibrationCurve: z.array(
    z.object({ from: share(), to: share(), n: count(), meanProbability: share(), accuracy: share() }),
  ),
  featureImportance: z.array(z.object({ feature: z.string(), accuracyLost: z.number() })),
}) satisfies z.ZodType<ModelCard>
