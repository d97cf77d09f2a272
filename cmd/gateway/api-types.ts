/**
 * Writes the types of the API: `attribution-service/sdk/api`. Runs before the sources are compiled, since some of them
 * import these types (`deploy/setup/api-types.mjs`).
 *
 * @example node dist/cmd/gateway/api-types.js dist/sdk/api.d.ts
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { typesOf } from '../../internal/http/openapi/schema-types.js'
import { describeApi } from './description.js'

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('usage: api-types FILE')
const { components } = await describeApi()
mkdirSync(dirname(file), { recursive: true })
writeFileSync(file, typesOf(components.schemas))
// What the stand-ins started has nothing to do.
process.exit()
