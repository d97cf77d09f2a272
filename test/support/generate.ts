/**
 * `npm run generate`: writes what is generated and committed. The API baselines of `test/baselines/` get additions, the
 * tables of `deploy/docs/access.md` and `deploy/docs/energy.md`, `deploy/docs/intake/clients.md` and the schema of a cluster follow the sources.
 */
import { writeFileSync } from 'node:fs'
import { query } from 'chdb'
import { describeApi } from '../../cmd/gateway/description.js'
import { replayedClients, writeClientsPage } from './clients/page.js'
import { CLUSTERED_SCHEMA, clusteredSchema } from './clustered-schema.js'
import { writeTables } from './contract/access-tables.js'
import { BASELINE_NAMES, recordBaseline } from './contract/baselines.js'
import { readDescription } from './contract/described.js'
import { writeEnergyPage } from './energy-page.js'

const described = readDescription(JSON.parse(JSON.stringify(await describeApi())))
const broken = BASELINE_NAMES.flatMap((name) => recordBaseline(name, described).map((what) => `${name}: ${what}`))
writeTables(described)
writeEnergyPage()
writeClientsPage(await replayedClients())
const formatted = async (statement: string): Promise<string> => {
  const literal = `'${statement.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  return JSON.parse(query(`SELECT formatQuery(${literal}) AS text FORMAT JSONEachRow`)).text
}
writeFileSync(CLUSTERED_SCHEMA, await clusteredSchema(formatted))
if (broken.length > 0) {
  console.error(
    `The API breaks what is frozen, and these baselines stay as they are:\n${broken.join('\n')}\n` +
      'Delete a baseline first to replace it as a whole.',
  )
  process.exit(1)
}
// What the stand-ins of the description started has nothing to do.
process.exit()
