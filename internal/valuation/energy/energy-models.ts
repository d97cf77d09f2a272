/**
 * Finds the architecture behind a model name, and its operator.
 *
 * Two look-ups: the name gives the parameters, the provider gives the data centre. Open-weight models that anyone may
 * serve are found by anchored patterns. A name that is not listed has unknown energy; a similar name is never used.
 */

import { canonicalProvider, comparableProvider } from '../../records/provider-names.js'
import { type MatchStep, type ModelNames, modelNames } from '../names/model-names.js'
import type { Range } from './closed-form.js'
import type { ModelClass } from './footprint-details.js'

/** `energy.data.json`, or an imported table. Parameters in 1e9, speeds in tokens per second, delays in seconds; decimal strings. */
export interface EnergyFile {
  readonly as_of: string
  readonly method: string
  readonly constants: Readonly<Record<string, { readonly value: string }>>
  readonly providers: Readonly<Record<string, OperatorRow>>
  readonly provider_default: OperatorRow
  readonly vendor_of: Readonly<Record<string, readonly string[]>>
  /** Edition of EcoLogits that `models` is from; absent in the tables of older releases. */
  readonly edition?: string
  /** Where the parts are from. */
  readonly source?: Readonly<Record<string, string>>
  readonly validation: { readonly method_uncertainty: { readonly low: string; readonly high: string } }
  readonly aliases: readonly { readonly provider: string; readonly alias: string; readonly model: string }[]
  readonly families: readonly FamilyRow[]
  readonly models: readonly ModelRow[]
}

interface OperatorRow {
  readonly zone: string
  readonly pue: Range
}

interface FamilyRow {
  readonly name: string
  readonly pattern: string
  readonly active: Range
  readonly total: Range
}

export interface ModelRow {
  readonly provider: string
  readonly model: string
  readonly arch?: string
  readonly active: Range
  readonly total: Range
  readonly tps?: string
  readonly ttft?: string
  readonly warnings?: readonly string[]
  /** The last edition that lists the model, if a later one no longer does. */
  readonly data?: string
  /** Where EcoLogits has the parameters from. */
  readonly sources?: readonly string[]
}

export interface EnergyModel {
  /** `vendor/model`, or the name of the family. */
  readonly row: string
  readonly foundBy: 'row' | 'alias' | 'family' | 'class'
  /** Of a model that no table knows: what its size is estimated from. */
  readonly modelClass?: ModelClass
  readonly match: readonly MatchStep[]
  readonly activeB: Range
  readonly totalB: Range
  readonly tokensPerSecond: string | undefined
  readonly firstTokenS: string | undefined
  /** Whether the vendor published the architecture; if not, the parameters are an estimate of EcoLogits. */
  readonly isOpen: boolean
  /** Whether the vendor serves the model itself. */
  readonly isOwnOperator: boolean
  /** The older edition that the row is from, if newer ones no longer list the model: its vendor has retired it. */
  readonly lastEdition: string | undefined
  readonly warnings: readonly string[]
}

export interface Operator {
  /** Canonical provider id; `other` for a provider without published data centre figures. */
  readonly provider: string
  readonly isKnown: boolean
  readonly pue: Range
  readonly zone: string
}

export type EnergyModelLookup =
  | { readonly kind: 'model'; readonly model: EnergyModel }
  | { readonly kind: 'none'; readonly reason: 'unknown_model' | 'not_text_output' }

export interface EnergyModels {
  /** Of an imported table. */
  readonly id: string | undefined
  readonly asOf: string
  readonly method: string
  /** Measured error of the method: factors on the lower and upper bound. */
  readonly outerBand: Range
  find(provider: string, model: string): EnergyModelLookup
  operator(provider: string): Operator
}

export function energyModels(file: EnergyFile, id?: string): EnergyModels {
  const rows = new Map(file.models.map((row) => [key(row.provider, row.model), row]))
  const aliases = new Map(
    file.aliases.map(({ provider, alias, model }) => [key(provider, alias), key(provider, model)]),
  )
  const families = file.families.map((row) => ({ row, pattern: new RegExp(row.pattern, 'i') }))
  const operators = new Map(Object.entries(file.providers))
  const vendorsOf = new Map(Object.entries(file.vendor_of))
  const vendors = new Set(file.models.map(({ provider }) => provider))

  const listed = (vendor: string, name: string): { row: ModelRow; foundBy: 'row' | 'alias' } | undefined => {
    const row = rows.get(key(vendor, name))
    if (row !== undefined) return { row, foundBy: 'row' }
    const aliased = rows.get(aliases.get(key(vendor, name)) ?? '')
    return aliased && { row: aliased, foundBy: 'alias' }
  }

  return {
    id,
    asOf: file.as_of,
    method: file.method,
    outerBand: [file.validation.method_uncertainty.low, file.validation.method_uncertainty.high],
    find(provider, model) {
      const names = modelNames(provider, model)
      const served = vendorsOf.get(names.provider) ?? (vendors.has(names.provider) ? [names.provider] : [])
      const bare = bareNames(names)
      for (const { name, vendor, match } of bare) {
        for (const owner of served) {
          if (vendor !== undefined && vendor !== owner) continue
          const hit = listed(owner, name)
          if (hit === undefined) continue
          if (NOT_TEXT.test(hit.row.model)) return { kind: 'none', reason: 'not_text_output' }
          return { kind: 'model', model: ofRow(hit.row, hit.foundBy, match, owner === names.provider) }
        }
      }
      for (const { name, match } of bare) {
        const family = families.find(({ pattern }) => pattern.test(name))
        if (family !== undefined) return { kind: 'model', model: ofFamily(family.row, match) }
      }
      const isOtherOutput = bare.some(({ name }) => NOT_TEXT.test(name))
      return { kind: 'none', reason: isOtherOutput ? 'not_text_output' : 'unknown_model' }
    },
    operator(statedProvider) {
      const provider = canonicalProvider(statedProvider) ?? comparableProvider(statedProvider)
      const row = operators.get(provider)
      if (row === undefined) return { provider: 'other', isKnown: false, ...placed(file.provider_default) }
      return { provider, isKnown: true, ...placed(row) }
    },
  }
}

interface BareName {
  readonly name: string
  /** The vendor in the name; undefined when the name has none. */
  readonly vendor: string | undefined
  readonly match: readonly MatchStep[]
}

/**
 * The candidates of a name without organisation, vendor and route, so that they name an architecture and not a service.
 * An inference profile, a fine-tune and a Bedrock version change the operator or the knowledge of a model, not its
 * size.
 */
export function bareNames({ provider, candidates }: ModelNames): BareName[] {
  const found = new Map<string, BareName>()
  const offer = (name: string, vendor: string | undefined, match: readonly MatchStep[]): void => {
    const id = `${vendor ?? ''}\n${name}`
    if (!found.has(id)) found.set(id, { name, vendor, match })
  }
  for (const { name, steps } of candidates) {
    if (provider === 'huggingface') offer(name, undefined, steps)
    const slash = name.lastIndexOf('/')
    const organisation = slash < 0 ? undefined : name.slice(0, slash).split('/').at(-1)
    let vendor = organisation === undefined ? undefined : (canonicalProvider(organisation) ?? organisation)
    let bare = name.slice(slash + 1)
    if (provider === 'bedrock') {
      const [, dotted, rest] = BEDROCK_NAME.exec(bare) ?? []
      if (rest !== undefined) {
        vendor = canonicalProvider(dotted ?? '') ?? dotted
        bare = rest
      }
    }
    offer(bare, vendor, steps)
    const plain = bare
      .replace(/^ft:([^:]+)(?::.*)?$/, '$1')
      .replace(/@default$/, '')
      .replace(provider === 'bedrock' ? /-v\d+(?::\d+)?$/ : provider === 'openrouter' ? /:free$/ : /$^/, '')
    // Gateways write Anthropic versions with a dot; Anthropic itself uses a hyphen.
    const spelled = plain.startsWith('claude-') ? plain.replace(/(\d)\.(\d)/, '$1-$2') : plain
    if (spelled === bare) continue
    for (const again of modelNames(provider, spelled).candidates) {
      offer(again.name, vendor, again.steps[0] === 'exact' ? steps : [...steps, ...again.steps])
    }
  }
  const strength = (match: readonly MatchStep[]): number => match.filter((step) => STRIPPING.has(step)).length
  return [...found.values()].sort((left, right) => strength(left.match) - strength(right.match))
}

/** Steps that drop a part of the name that may distinguish models. */
const STRIPPING: ReadonlySet<MatchStep> = new Set(['date_stripped', 'latest_stripped'])

function ofRow(
  row: ModelRow,
  foundBy: 'row' | 'alias',
  match: readonly MatchStep[],
  isOwnOperator: boolean,
): EnergyModel {
  const warnings = row.warnings ?? []
  return {
    row: `${row.provider}/${row.model}`,
    foundBy,
    match,
    activeB: row.active,
    totalB: row.total,
    tokensPerSecond: row.tps,
    firstTokenS: row.ttft,
    isOpen: !warnings.includes('model-arch-not-released'),
    isOwnOperator,
    lastEdition: row.data,
    warnings,
  }
}

function ofFamily(row: FamilyRow, match: readonly MatchStep[]): EnergyModel {
  return {
    row: row.name,
    foundBy: 'family',
    match,
    activeB: row.active,
    totalB: row.total,
    tokensPerSecond: undefined,
    firstTokenS: undefined,
    isOpen: true,
    isOwnOperator: false,
    lastEdition: undefined,
    warnings: [],
  }
}

function placed({ zone, pue }: OperatorRow): { zone: string; pue: Range } {
  return { zone, pue }
}

function key(vendor: string, model: string): string {
  return `${vendor}\n${model.toLowerCase()}`
}

/** Models whose output is speech, images or vectors: the method covers generated text only. */
const NOT_TEXT = /(?:^|[-.])(?:embed|embedding|embeddings|tts|transcribe|image|realtime|audio|live|sonic)(?:[-.]|$)/i
const BEDROCK_VENDORS =
  'ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshotai|moonshot|nvidia|openai|qwen|' +
  'twelvelabs|writer|xai|zai'
/** `<region>.<vendor>.<model>`; most names have no region. */
const BEDROCK_NAME = new RegExp(`^(?:(?:us-gov|us|eu|apac|ap|au|jp|ca|in|global)\\.)?(${BEDROCK_VENDORS})\\.(.+)$`)
