import { z } from 'zod'
import { canonicalProvider } from '../../../records/provider-names.js'
import { plainText } from '../../../text/plain-text.js'
import type { Range } from '../../energy/closed-form.js'
import type { EnergyFile, ModelRow } from '../../energy/energy-models.js'

/**
 * EcoLogits' model file (`ecologits/data/models.json`, form of 0.9 to 0.11; its `model_repository.py` gives the meaning)
 * as rows of an energy table.
 *
 * Parameters are in 1e9, one number or a range; `total` and `active` apart make a mixture of experts, whatever `type`
 * says. `tps` and `ttft` are those of the vendor's own service. An alias makes its name that of another model, and wins
 * over a model of that name.
 */
export interface EcologitsRows {
  /** Each name once; no number is checked yet. */
  readonly models: readonly UncheckedRow[]
  /** `model` is one of `models`. */
  readonly aliases: EnergyFile['aliases']
}

export interface UncheckedRow {
  readonly provider: string
  readonly model: string
  readonly arch: string
  /** As the file has them: they may be negative, or in reverse. */
  readonly active: readonly [number, number]
  readonly total: readonly [number, number]
  readonly tps: number | undefined
  readonly ttft: number | undefined
  readonly warnings: readonly string[]
  readonly sources: readonly string[]
}

export type ParsedEcologits =
  | { readonly kind: 'rows'; readonly rows: EcologitsRows }
  | { readonly kind: 'invalid'; readonly problems: readonly string[] }

/** Some hundred times the file of 0.11.3. */
export const ECOLOGITS_BYTES_MAX = 32 * 1024 * 1024
const PROBLEMS_MAX = 20

const name = plainText(256)
const parameters = z.union([z.number(), z.looseObject({ min: z.number(), max: z.number() })])
const model = z.looseObject({
  provider: name,
  name,
  architecture: z.looseObject({
    type: plainText(32),
    parameters: z.union([parameters, z.looseObject({ total: parameters, active: parameters })]),
  }),
  warnings: z.array(plainText(64)).max(16).nullish(),
  sources: z.array(plainText(2048)).max(32).nullish(),
  deployment: z.looseObject({ tps: z.number().nullish(), ttft: z.number().nullish() }).nullish(),
})
const alias = z.looseObject({ provider: name, name, alias: name })
const modelFile = z.looseObject({ models: z.array(model).min(1).max(100_000), aliases: z.array(alias).nullish() })

/** Parses EcoLogits' model file. Errors name their location; at most twenty are reported. */
export function parseEcologits(text: string): ParsedEcologits {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return { kind: 'invalid', problems: ['invalid JSON'] }
  }
  const parsed = modelFile.safeParse(json)
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
    return { kind: 'invalid', problems: problems.slice(0, PROBLEMS_MAX) }
  }
  const rows = rowsOf(parsed.data)
  return Array.isArray(rows)
    ? { kind: 'invalid', problems: rows.slice(0, PROBLEMS_MAX) }
    : { kind: 'rows', rows: rows as EcologitsRows }
}

/** @returns the problems of a file whose names contradict each other */
function rowsOf({ models, aliases }: z.infer<typeof modelFile>): EcologitsRows | string[] {
  const problems: string[] = []
  const rows = new Map<string, UncheckedRow>()
  for (const row of models.map(rowOf)) {
    const key = tableKey(row.provider, row.model)
    if (rows.has(key)) problems.push(`${key} is a duplicate`)
    rows.set(key, row)
  }
  const named = new Map<string, EnergyFile['aliases'][number]>()
  for (const { provider, name: of, alias: target } of aliases ?? []) {
    const vendor = vendorOf(provider)
    const key = tableKey(vendor, of)
    // As EcoLogits does, in the order of the file: an alias may name an earlier one.
    const found = rows.get(tableKey(vendor, named.get(tableKey(vendor, target))?.model ?? target))
    if (found === undefined) problems.push(`the alias ${key} is of a model that is not listed`)
    else if (rows.has(key)) rows.set(key, { ...found, model: of })
    else named.set(key, { provider: vendor, alias: of, model: found.model })
  }
  return problems.length > 0 ? problems : { models: [...rows.values()], aliases: [...named.values()] }
}

function rowOf({ provider, name: of, architecture, warnings, sources, deployment }: z.infer<typeof model>) {
  const { type: arch, parameters: stated } = architecture
  const [total, active] =
    typeof stated === 'object' && 'total' in stated ? [stated.total, stated.active] : [stated, stated]
  return {
    provider: vendorOf(provider),
    model: of,
    arch,
    active: boundsOf(active as Stated),
    total: boundsOf(total as Stated),
    tps: deployment?.tps ?? undefined,
    ttft: deployment?.ttft ?? undefined,
    warnings: warnings ?? [],
    sources: sources ?? [],
  }
}

type Stated = z.infer<typeof parameters>
const boundsOf = (stated: Stated): readonly [number, number] =>
  typeof stated === 'number' ? [stated, stated] : [stated.min, stated.max]

/** EcoLogits writes `mistralai`, `google_genai` and `huggingface_hub`; a vendor that we do not know keeps its name. */
const vendorOf = (provider: string): string => canonicalProvider(provider) ?? provider.toLowerCase()

/** `vendor/model`, by which rows are found, listed and accepted. */
export const tableKey = (provider: string, of: string): string => `${provider}/${of}`.toLowerCase()

/** A checked row in the form of an energy table: plain decimals. A number of 1e-6 to 1e9 is written without exponent. */
export function tableRow({ active, total, tps, ttft, warnings, sources, ...row }: UncheckedRow): ModelRow {
  const range = ([min, max]: readonly [number, number]): Range => [String(min), String(max)]
  return {
    ...row,
    active: range(active),
    total: range(total),
    ...(tps !== undefined && { tps: String(tps) }),
    ...(ttft !== undefined && { ttft: String(ttft) }),
    ...(warnings.length > 0 && { warnings }),
    ...(sources.length > 0 && { sources }),
  }
}
