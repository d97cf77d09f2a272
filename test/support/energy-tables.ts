/** Small energy tables: a test states only the rows of its case. */
import type { EnergyFile, ModelRow } from '../../internal/valuation/energy/energy-models.js'
import { loadEnergyFile } from '../../internal/valuation/energy/footprint.js'

const released = loadEnergyFile()

/** A table with the operators, families and constants of the release, and these rows. */
export const tableOf = (models: readonly ModelRow[], stated: Partial<EnergyFile> = {}): EnergyFile => ({
  ...released,
  as_of: '2026-12-01',
  aliases: [],
  models,
  ...stated,
})

/** A dense model of so many parameters (1e9). */
export const modelRow = (model: string, billions: string, stated: Partial<ModelRow> = {}): ModelRow => ({
  provider: 'openai',
  model,
  arch: 'dense',
  active: [billions, billions],
  total: [billions, billions],
  ...stated,
})
