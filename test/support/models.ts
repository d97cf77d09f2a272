/** Model versions as stored in the registry. A test states only the members of its case. */
import type { Model, ModelCard } from '../../internal/inference/learning/model.js'
import type { StoredModel } from '../../internal/inference/models/model-version.js'

export const CARD: ModelCard = {
  format: 2,
  seed: 1,
  classes: [
    { service: 'search', owner: 'team-search', examples: 600, servedShare: 0.6 },
    { service: 'chat', owner: 'team-chat', examples: 400, servedShare: 0.3 },
  ],
  dataWindow: { fromMs: 1_000, toMs: 9_000, validationFromMs: 7_000 },
  examples: { resolved: 1_000, unresolved: 500, overrides: 20, disputes: 5 },
  unknownShare: 0.1,
  patterns: [],
  weighted: {
    n: 200,
    accuracy: 0.9,
    heuristicAccuracy: 0.6,
    majorityAccuracy: 0.3,
    calibrationError: 0.03,
    precisionAtFloor: 0.95,
    shareAtFloor: 0.7,
  },
  audited: undefined,
  gate: { isPassed: true, reasons: [] },
  calibrationCurve: [{ from: 0.8, to: 0.9, n: 50, meanProbability: 0.86, accuracy: 0.88 }],
  featureImportance: [{ feature: 'model', accuracyLost: 0.2 }],
}

/** The version with this number, created at that second. */
export const version = (number: number, stated: Partial<StoredModel> = {}): StoredModel => ({
  id: `mdl_${number}`,
  tenant_id: 'tnt_one',
  created_at: at(number),
  artefact: { object: `mdl_${number}.1`, sha256: '00', bytes: 1_000 },
  card: CARD,
  promoted_at: null,
  recalled_at: null,
  ...stated,
})

export const at = (second: number): string => new Date(Date.UTC(2026, 10, 3, 12) + second * 1_000).toISOString()

/** A model that knows only the shares of its classes: it infers the first one for every event. */
export const priorModel = (card: ModelCard = CARD): Model => ({
  card,
  parameters: {
    slots: new Uint32Array(),
    weights: new Float32Array(),
    intercepts: Float32Array.from({ length: card.classes.length + 1 }, (_, i) =>
      i === 0 ? 3 : i === card.classes.length ? -3 : 0,
    ),
    contextOffsets: new Map(),
    temperature: 1,
    openClasses: [],
    contextCounts: new Map(),
  },
})
