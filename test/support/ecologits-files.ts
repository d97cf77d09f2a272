/** EcoLogits' model file (`ecologits/data/models.json`, 0.11.3) in its own form: a test states only what it is about. */

type Bounds = number | { readonly min: number; readonly max: number }

export interface EcologitsModel {
  readonly type: 'model'
  readonly provider: string
  readonly name: string
  readonly architecture: {
    readonly type: string
    readonly parameters: Bounds | { readonly total: Bounds; readonly active: Bounds }
  }
  readonly warnings: readonly string[] | null
  readonly sources: readonly string[] | null
  readonly deployment: { readonly tps: number | null; readonly ttft: number | null } | null
}

export const ecologitsModel = (name: string, stated: Partial<EcologitsModel> = {}): EcologitsModel => ({
  type: 'model',
  provider: 'openai',
  name,
  architecture: { type: 'dense', parameters: 10 },
  warnings: null,
  sources: ['https://example.com/models'],
  deployment: { tps: null, ttft: null },
  ...stated,
})

export const ecologitsAlias = (name: string, alias: string, provider = 'openai') => ({
  type: 'alias',
  provider,
  name,
  alias,
})

export const ecologitsFile = (
  models: readonly EcologitsModel[],
  aliases: readonly ReturnType<typeof ecologitsAlias>[] | null = [],
): string => JSON.stringify({ aliases, models }, null, 4)
