/**
 * Energy and carbon of one AI call: measured by the caller, else modelled, else reported as unknown.
 *
 * Everything except the output tokens and latency of the event is computed once per model, operator, zone and grid year
 * and then cached, as in the cost rules.
 */
import { readFileSync } from 'node:fs'
import type { Invocation } from '../../invocations/invocation.js'
import type { FootprintBasis } from '../../records/bases.js'
import {
  AMOUNT_STEPS_MAX,
  parseQuantity,
  type Quantity,
  STEPS_PER_UNIT,
  type Unit,
  zero,
} from '../../units/quantity.js'
import { type Ratio, ratio } from '../../units/ratio.js'
import { modelNames } from '../names/model-names.js'
import type { ClassEstimates } from './class-estimates.js'
import { gpusFor, type MeanForm, meanForm, type Parameters, rounded } from './closed-form.js'
import {
  type EnergyFile,
  type EnergyModel,
  type EnergyModelLookup,
  type EnergyModels,
  energyModels,
  type Operator,
} from './energy-models.js'
import type { FootprintDetails, FootprintNote, FootprintReason } from './footprint-details.js'
import {
  GRID_EDITIONS,
  type Grid,
  type GridFactor,
  type GridFile,
  grid,
  gridEdition,
  type TenantGrid,
  tenantFactorAt,
  type ZoneChoice,
} from './grid.js'

export interface FootprintTables {
  readonly models: EnergyModels
  readonly grid: Grid
}

export interface Footprint {
  /** 0 with basis `unknown` means unknown, not none. */
  readonly energyWh: Quantity<'Wh'>
  readonly energyBasis: FootprintBasis
  /** Usage plus embodied carbon of the hardware. */
  readonly carbonGco2e: Quantity<'gCO2e'>
  readonly carbonBasis: FootprintBasis
  /** Frozen and shared by all events of the same kind. */
  readonly details: FootprintDetails
  /** `details` as JSON, serialised once. */
  readonly detailsJson: string
}

/** Maximum of cached models per set of tables and tenant; above it the cache is cleared and filled again. */
const KEPT_MODELS_MAX = 20_000
/** Input of at least this multiple of the output is not covered by the fit, which used short prompts. */
const PREFILL_MULTIPLE = 10

/** Reads the tables of the release from this directory. The only I/O of the energy rules; call it once, at start. */
export function loadFootprintTables(): FootprintTables {
  return footprintTables(loadEnergyFile(), read('./grid.data.json') as GridFile)
}

export const loadEnergyFile = (): EnergyFile => read('./energy.data.json') as EnergyFile

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'))

function footprintTables(energyFile: EnergyFile, gridFile: GridFile): FootprintTables {
  return { models: energyModels(energyFile), grid: grid(gridFile) }
}

/** The tables with an imported energy table in place of their own. */
export const withEnergyTable = ({ grid }: FootprintTables, file: EnergyFile, id: string): FootprintTables => ({
  models: energyModels(file, id),
  grid,
})

export interface FootprintOptions {
  /** For models that the tables do not know; without them such a model is unknown. */
  readonly classes?: ClassEstimates | undefined
  /** Zones and factors of the tenant. Results are cached per object: pass the same one until they change. */
  readonly tenant?: TenantGrid | undefined
  /** The model behind the name in the event, if that is a model name of the tenant. */
  readonly renamed?: { readonly provider: string; readonly model: string } | undefined
}

export function footprint(
  invocation: Invocation,
  tables: FootprintTables,
  { tenant, renamed, classes }: FootprintOptions = {},
): Footprint {
  const kept = keptFor(tables, tenant)
  const energyMeasured = invocation.energyWh === undefined ? undefined : parseQuantity<'Wh'>(invocation.energyWh)
  const carbonMeasured =
    invocation.carbonGco2e === undefined ? undefined : parseQuantity<'gCO2e'>(invocation.carbonGco2e)
  // Measured values take precedence here too: a cache hit implies zero energy only when none was measured.
  if (invocation.servedFromCache === true && energyMeasured === undefined) {
    return carbonMeasured === undefined ? kept.localCache : { ...kept.cacheWithCarbon, carbonGco2e: carbonMeasured }
  }

  const call = keptCall(invocation, kept, tables, { tenant, renamed, classes })
  const reason = unknownReason(invocation, call)

  const { outputTokens = 0, inputTokens = 0 } = invocation
  const isPrefillLarge = inputTokens > PREFILL_MULTIPLE * outputTokens
  const edition = gridEdition(invocation.eventTimeMs)
  const tenantFactor = tenantFactorAt(tenant, call.zone.zone, invocation.eventTimeMs)
  const id =
    (energyMeasured === undefined ? 0 : 1) |
    (carbonMeasured === undefined ? 0 : 2) |
    (isPrefillLarge ? 4 : 0) |
    (invocation.serviceTier === 'batch' ? 8 : 0) |
    (GRID_EDITIONS.indexOf(edition) << 4) |
    ((tenantFactor + 1) << 10)
  const variantFor = (why: EnergyReason | undefined, isCarbonBeyondRange: boolean): FootprintVariant => {
    const idOfReason = (why === undefined ? 0 : REASONS.indexOf(why) + 1) << 6
    return cachedVariant(call, id | idOfReason | (isCarbonBeyondRange ? CARBON_BEYOND_RANGE : 0), () => {
      const override = tenant?.factors?.[tenantFactor]
      const factor: GridFactor | undefined =
        override !== undefined
          ? { gramsPerKwh: override.gramsPerKwh, table: 'tenant', source: override.source, note: undefined }
          : call.zone.zone === undefined
            ? undefined
            : tables.grid.factor(call.zone.zone, edition)
      return newVariant(call, tables, factor, {
        isEnergyMeasured: energyMeasured !== undefined,
        isCarbonMeasured: carbonMeasured !== undefined,
        reason: why,
        isPrefillLarge,
        isBatch: invocation.serviceTier === 'batch',
        isCarbonBeyondRange,
      })
    })
  }
  let variant = variantFor(reason, false)

  const latencyMs = invocation.latencyMs === undefined ? undefined : Math.round(invocation.latencyMs)
  let energyWh = energyMeasured ?? variant.form?.energyWh(outputTokens, latencyMs)
  if (energyMeasured === undefined && isBeyondRange(energyWh)) {
    energyWh = undefined
    variant = variantFor('beyond_range', false)
  }
  let carbonGco2e = carbonMeasured
  if (carbonGco2e === undefined) {
    carbonGco2e =
      energyMeasured === undefined
        ? variant.form?.carbonGco2e(outputTokens, latencyMs)
        : variant.gramsPerKwh && carbonOfEnergy(energyMeasured, variant.gramsPerKwh)
    if (isBeyondRange(carbonGco2e)) {
      carbonGco2e = undefined
      variant = variantFor(reason, true)
    }
  }
  return {
    energyWh: energyWh ?? zero<'Wh'>(),
    energyBasis: variant.details.energy_basis,
    carbonGco2e: carbonGco2e ?? zero<'gCO2e'>(),
    carbonBasis: variant.details.carbon_basis,
    details: variant.details,
    detailsJson: variant.detailsJson,
  }
}

const isBeyondRange = (amount: Quantity<Unit> | undefined): boolean => amount !== undefined && amount > AMOUNT_STEPS_MAX

/** Usage carbon of a measured energy, without the embodied carbon of the hardware. */
export function carbonOfEnergy(energyWh: Quantity<'Wh'>, gramsPerKwh: Ratio): Quantity<'gCO2e'> {
  return rounded<'gCO2e'>({
    numerator: energyWh * gramsPerKwh.numerator,
    denominator: STEPS_PER_UNIT * WH_PER_KWH * gramsPerKwh.denominator,
  })
}

/** The parameters of the closed form in the details; the explanation uses the same ones. */
export function parametersOf({ model, operator, grid: factor }: FootprintDetails): Parameters | undefined {
  if (model === undefined || operator === undefined) return undefined
  return {
    activeB: model.active_parameters_b,
    totalB: model.total_parameters_b,
    tokensPerSecond: model.tokens_per_second,
    firstTokenS: model.first_token_s,
    pue: operator.pue,
    gramsPerKwh: factor?.g_per_kwh,
  }
}

/** The parameters whose middle is the value: with a class estimate those of a typical model, else the same ones. */
export function typicalParametersOf(details: FootprintDetails): Parameters | undefined {
  const parameters = parametersOf(details)
  const typical = details.model?.class
  if (parameters === undefined || typical === undefined) return parameters
  const { typical_active_b: active, typical_total_b: total } = typical
  return { ...parameters, activeB: [active, active], totalB: [total, total] }
}

/** A model at an operator in a zone, with its computed factors. */
interface KeptCall {
  readonly lookup: EnergyModelLookup
  readonly modelFrom: 'served' | 'requested'
  readonly operator: Operator
  readonly zone: ZoneChoice
  readonly variants: Map<number, FootprintVariant>
}

interface FootprintVariant {
  readonly details: FootprintDetails
  readonly detailsJson: string
  /** Present when the energy is modelled. */
  readonly form: MeanForm | undefined
  /** Present when carbon is computed from a measured energy. */
  readonly gramsPerKwh: Ratio | undefined
}

/** A bit of the id of a footprint variant. */
const CARBON_BEYOND_RANGE = 1 << 9

function cachedVariant({ variants }: KeptCall, id: number, make: () => FootprintVariant): FootprintVariant {
  let known = variants.get(id)
  if (known === undefined) {
    known = make()
    variants.set(id, known)
  }
  return known
}

interface Kept {
  readonly localCache: Footprint
  /** The footprint of a cache hit with measured carbon. */
  readonly cacheWithCarbon: Footprint
  readonly calls: Map<string, KeptCall>
}

const NO_TENANT = {}
const KEPT = new WeakMap<FootprintTables, WeakMap<object, Kept>>()

function keptFor(tables: FootprintTables, tenant: TenantGrid | undefined): Kept {
  let ofTables = KEPT.get(tables)
  if (ofTables === undefined) {
    ofTables = new WeakMap()
    KEPT.set(tables, ofTables)
  }
  const owner = tenant ?? NO_TENANT
  let kept = ofTables.get(owner)
  if (kept === undefined) {
    const cacheWithCarbon = localCache(tables, 'measured')
    kept = { localCache: localCache(tables, 'modelled'), cacheWithCarbon, calls: new Map() }
    ofTables.set(owner, kept)
  }
  return kept
}

/** No model ran, so 0 is a known value here and not a missing one. */
function localCache(tables: FootprintTables, carbonBasis: 'modelled' | 'measured'): Footprint {
  const details: FootprintDetails = {
    energy_basis: 'modelled',
    carbon_basis: carbonBasis,
    confidence: MEASURED_PERCENT / 100,
    ...editions(tables),
    notes: ['served_from_local_cache'],
  }
  return Object.freeze({
    energyWh: zero<'Wh'>(),
    energyBasis: 'modelled',
    carbonGco2e: zero<'gCO2e'>(),
    carbonBasis,
    details: deepFrozen(details),
    detailsJson: JSON.stringify(details),
  })
}

function keptCall(
  invocation: Invocation,
  kept: Kept,
  tables: FootprintTables,
  { tenant, renamed, classes }: FootprintOptions,
): KeptCall {
  const { servedModel, requestedModel, region } = invocation
  const { provider, model } = renamed ?? { provider: invocation.provider, model: servedModel ?? requestedModel }
  const modelFrom = servedModel === undefined ? 'requested' : 'served'
  const id = `${renamed === undefined ? '' : 'renamed'}\n${classes?.book ?? ''}\n${provider}\n${modelFrom}\n${model}\n${region ?? ''}`
  const known = kept.calls.get(id)
  if (known !== undefined) return known
  if (kept.calls.size >= KEPT_MODELS_MAX) kept.calls.clear()

  const names = modelNames(provider, model)
  const operator = tables.models.operator(names.provider)
  const lookup = withClass(tables.models.find(provider, model), classes, provider, model)
  const call: KeptCall = {
    lookup: renamed === undefined ? lookup : foundByName(lookup),
    modelFrom,
    operator,
    zone: tables.grid.choose({ region, inModelId: names.profile ?? names.region }, operator.zone, tenant),
    variants: new Map(),
  }
  kept.calls.set(id, call)
  return call
}

function withClass(
  lookup: EnergyModelLookup,
  classes: ClassEstimates | undefined,
  provider: string,
  model: string,
): EnergyModelLookup {
  if (lookup.kind === 'model' || lookup.reason !== 'unknown_model') return lookup
  const estimated = classes?.find(provider, model)
  return estimated === undefined ? lookup : { kind: 'model', model: estimated }
}

/** The look-up result, marked as found by a model name of the tenant. */
const foundByName = (lookup: EnergyModelLookup): EnergyModelLookup =>
  lookup.kind === 'none'
    ? lookup
    : { ...lookup, model: { ...lookup.model, match: ['tenant_override', ...lookup.model.match] } }

const REASONS = ['unknown_model', 'not_text_output', 'no_output_tokens', 'zero_output_tokens', 'beyond_range'] as const
type EnergyReason = (typeof REASONS)[number] & FootprintReason

function unknownReason(invocation: Invocation, { lookup }: KeptCall): EnergyReason | undefined {
  if (lookup.kind === 'none') return lookup.reason
  if ((invocation.audioOutputTokens ?? 0) > 0) return 'not_text_output'
  if (invocation.outputTokens === undefined) return 'no_output_tokens'
  return invocation.outputTokens === 0 ? 'zero_output_tokens' : undefined
}

interface Kind {
  readonly isEnergyMeasured: boolean
  readonly isCarbonMeasured: boolean
  readonly reason: EnergyReason | undefined
  readonly isPrefillLarge: boolean
  readonly isBatch: boolean
  readonly isCarbonBeyondRange: boolean
}

function newVariant(
  call: KeptCall,
  tables: FootprintTables,
  factor: GridFactor | undefined,
  kind: Kind,
): FootprintVariant {
  const { lookup, operator, zone } = call
  const model = lookup.kind === 'model' ? lookup.model : undefined
  const energyBasis: FootprintBasis = kind.isEnergyMeasured
    ? 'measured'
    : kind.reason === undefined
      ? basisOf(model)
      : 'unknown'
  const isCarbonPossible = energyBasis !== 'unknown' && factor !== undefined && !kind.isCarbonBeyondRange
  const carbonBasis: FootprintBasis = kind.isCarbonMeasured
    ? 'measured'
    : isCarbonPossible
      ? // Carbon of a measured energy is modelled, however little is known of the model.
        kind.isEnergyMeasured
        ? 'modelled'
        : basisOf(model)
      : 'unknown'
  const carbonReason =
    energyBasis === 'unknown'
      ? kind.reason
      : kind.isCarbonBeyondRange
        ? ('beyond_range' as const)
        : ('unknown_zone' as const)
  const isModelled = energyBasis !== 'unknown' && !kind.isEnergyMeasured && model !== undefined
  const isGridUsed = isCarbonPossible && !kind.isCarbonMeasured && factor !== undefined && zone.zone !== undefined
  const percent = confidencePercent(energyBasis, model, operator, zone, kind.isPrefillLarge)
  const notes = isModelled || isGridUsed ? notesOf(kind, isModelled, isGridUsed ? factor : undefined, zone) : []

  const details: FootprintDetails = deepFrozen({
    energy_basis: energyBasis,
    carbon_basis: carbonBasis,
    ...(energyBasis === 'unknown' && kind.reason !== undefined && { energy_reason: kind.reason }),
    ...(carbonBasis === 'unknown' && carbonReason !== undefined && { carbon_reason: carbonReason }),
    ...(percent !== undefined && { confidence: percent / 100 }),
    ...editions(tables),
    ...(isModelled && {
      model: modelDetails(model, call.modelFrom),
      operator: { provider: operator.provider, is_known: operator.isKnown, pue: operator.pue },
    }),
    ...(isGridUsed && {
      grid: {
        zone: zone.zone,
        from: zone.from,
        g_per_kwh: factor.gramsPerKwh,
        table: factor.table,
        ...(factor.source !== undefined && { source: factor.source }),
      },
    }),
    ...(isModelled && { outer_band: tables.models.outerBand }),
    ...(notes.length > 0 && { notes }),
  })
  const parameters = isModelled ? typicalParametersOf(details) : undefined
  return {
    details,
    detailsJson: JSON.stringify(details),
    form: parameters && meanForm(parameters),
    gramsPerKwh: kind.isEnergyMeasured && isGridUsed ? ratio(factor.gramsPerKwh) : undefined,
  }
}

const basisOf = (model: EnergyModel | undefined): FootprintBasis =>
  model?.modelClass === undefined ? 'modelled' : 'class_estimate'

function modelDetails(model: EnergyModel, modelFrom: 'served' | 'requested'): NonNullable<FootprintDetails['model']> {
  return {
    row: model.row,
    model_from: modelFrom,
    found_by: model.foundBy,
    ...(model.modelClass && { class: model.modelClass }),
    match: model.match,
    active_parameters_b: model.activeB,
    total_parameters_b: model.totalB,
    ...(model.tokensPerSecond !== undefined && { tokens_per_second: model.tokensPerSecond }),
    ...(model.firstTokenS !== undefined && { first_token_s: model.firstTokenS }),
    gpus: [gpusFor(model.totalB[0]), gpusFor(model.totalB[1])],
    ...(model.lastEdition !== undefined && { edition: model.lastEdition }),
    ...(model.warnings.length > 0 && { warnings: model.warnings }),
  }
}

function notesOf(kind: Kind, isModelled: boolean, factor: GridFactor | undefined, zone: ZoneChoice): FootprintNote[] {
  return [
    ...(isModelled && kind.isPrefillLarge ? (['prefill_not_modelled'] as const) : []),
    ...(isModelled && kind.isBatch ? (['batch_same_formula'] as const) : []),
    ...(kind.isEnergyMeasured && factor !== undefined ? (['carbon_usage_only'] as const) : []),
    ...(zone.hasNoSingleGrid ? (['region_without_single_grid'] as const) : []),
    ...(factor?.note === undefined ? [] : [factor.note]),
  ]
}

const MEASURED_PERCENT = 95

/** Confidence of the energy value, in hundredths; undefined when there is no value. */
function confidencePercent(
  basis: FootprintBasis,
  model: EnergyModel | undefined,
  operator: Operator,
  zone: ZoneChoice,
  isPrefillLarge: boolean,
): number | undefined {
  if (basis === 'measured') return MEASURED_PERCENT
  if (basis === 'unknown' || model === undefined) return undefined
  const isByDefault = zone.from === 'operator_default' || zone.from === 'world'
  const isDoubtfulRow =
    model.lastEdition !== undefined || model.match.includes('date_stripped') || model.match.includes('latest_stripped')
  return basePercent(model, operator) - (isByDefault ? 5 : 0) - (isDoubtfulRow ? 5 : 0) - (isPrefillLarge ? 10 : 0)
}

function basePercent(model: EnergyModel, operator: Operator): number {
  if (model.foundBy === 'class') return operator.isKnown ? 30 : 25
  if (!operator.isKnown) return 45
  if (model.foundBy === 'family') return 55
  if (model.isOpen) return 80
  return model.isOwnOperator ? 60 : 55
}

function editions({ models, grid: { asOf } }: FootprintTables) {
  return {
    method: models.method,
    energy_as_of: models.asOf,
    ...(models.id !== undefined && { energy_id: models.id }),
    grid_as_of: asOf,
  }
}

function deepFrozen<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null && !Object.isFrozen(inner)) deepFrozen(inner)
  }
  return Object.freeze(value)
}

const WH_PER_KWH = 1000n
