/** scim2-tester, the checks of RFC 7643 and 7644, and scim2-client, with which programs keep users and groups. */
import { beforeAll } from 'vitest'
import { pinnedVersion } from '../../support/conformance/pins.js'
import { conformance, driven } from '../../support/conformance/program.js'
import { newTenantOfProduct } from '../../support/product.js'
import type { Instance } from '../../support/service.js'

let service: Instance
beforeAll(async () => {
  service = await newTenantOfProduct()
})

const drive = (driver: string) => (folder: string) =>
  driven([`${folder}/venv/bin/python`, driver], {
    cwd: folder,
    env: { SCIM_URL: `${service.baseUrl}/scim/v2`, API_KEY: service.credentials.api_key },
    minutesMax: 5,
  })

conformance(
  {
    name: 'scim2-tester',
    version: pinnedVersion('scim/scim2', 'scim2-tester'),
    tries: 'its checks of discovery, errors, projections, and each attribute by POST, PUT and PATCH',
    installs: 'scim/scim2',
  },
  drive('tester.py'),
)

conformance(
  {
    name: 'scim2-client',
    version: pinnedVersion('scim/scim2', 'scim2-client'),
    tries: 'discover, create, conflict, filter, search, project, modify, replace, delete',
    installs: 'scim/scim2',
  },
  drive('client.py'),
)
