/** The schema of a cluster as a file, so that a change of the schema shows what it means there. */
import { fileURLToPath } from 'node:url'
import { schemaFor } from '../../internal/store/migrations/migrate.js'

export const CLUSTERED_SCHEMA = fileURLToPath(new URL('../internal/store/migrations/clustered.sql', import.meta.url))
export const CLUSTER = 'attribution'

/** @param format a statement as the engine's parser understood it */
export async function clusteredSchema(format: (statement: string) => Promise<string>): Promise<string> {
  const texts = []
  for (const statement of schemaFor(CLUSTER)) texts.push(await format(statement))
  return `${texts.join(';\n\n')};\n`
}
