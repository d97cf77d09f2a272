/** scim2-tester, the checks of RFC 7643 and 7644, and what programs keep users and groups with: scim2-client and Ping's SDK. */
import { beforeAll } from 'vitest'
import { pinnedVersion } from '../../support/conformance/pins.js'
import { conformance, driven } from '../../support/conformance/program.js'
import { newTenantOfProduct } from '../../support/product.js'
import type { Instance } from '../../support/service.js'

let service: Instance
beforeAll(async () => {
  service = await newTenantOfProduct()
})

const drive = (folder: string, command: readonly [string, ...string[]]) =>
  driven(command, {
    cwd: folder,
    env: { SCIM_URL: `${service.baseUrl}/scim/v2`, API_KEY: service.credentials.api_key },
    minutesMax: 5,
  })
const inPython = (driver: string) => (folder: string) => drive(folder, [`${folder}/venv/bin/python`, driver])

conformance(
  {
    name: 'scim2-tester',
    version: pinnedVersion('scim/scim2', 'scim2-tester'),
    tries: 'its checks of discovery, errors, projections, and each attribute by POST, PUT and PATCH',
    installs: 'scim/scim2',
  },
  inPython('tester.py'),
)

conformance(
  {
    name: 'scim2-client',
    version: pinnedVersion('scim/scim2', 'scim2-client'),
    tries: 'discover, create, conflict, filter, search, project, modify, replace, delete',
    installs: 'scim/scim2',
  },
  inPython('client.py'),
)

conformance(
  {
    name: 'scim2-sdk',
    version: pinnedVersion('scim/scim2-sdk', 'scim2-sdk-client'),
    tries:
      "Ping's, for Java: discover, create, conflict, follow addresses, search by GET and POST, modify, replace, delete",
    installs: 'scim/scim2-sdk',
  },
  // java.net takes PATCH only so.
  (folder) => drive(folder, ['java', '--add-opens=java.base/java.net=ALL-UNNAMED', '-cp', 'lib/*', 'Drive.java']),
)
