/** The Kustomize base, by the tools that read it before a cluster does. */
import { join } from 'node:path'
import { run } from '../../support/clients/run.js'
import { pinnedVersion } from '../../support/conformance/pins.js'
import { conformance, driven } from '../../support/conformance/program.js'
import { ROOT } from '../../support/docs.js'

const BASE = join(ROOT, 'deploy', 'kubernetes')

conformance(
  {
    name: 'kustomize',
    version: pinnedVersion('kubernetes/kustomize', 'sigs.k8s.io/kustomize/api'),
    tries: 'build of the base',
    installs: 'kubernetes/kustomize',
  },
  (folder) => driven([join(folder, 'program'), BASE], { cwd: folder, minutesMax: 1 }),
)

const MANIFESTS = ['attributor', 'background', 'config', 'gateway', 'network']
const KUBERNETES = '1.34'

conformance(
  {
    name: 'kubernetes-validate',
    version: pinnedVersion('kubernetes/validate', 'kubernetes-validate'),
    tries: `each manifest, strictly, by the schemas of Kubernetes ${KUBERNETES}`,
    installs: 'kubernetes/validate',
  },
  async (folder) => {
    const checks = new Map<string, string | undefined>()
    for (const name of MANIFESTS) {
      const args = ['venv/bin/kubernetes-validate', '--strict', '-k', KUBERNETES, join(BASE, `${name}.yaml`)]
      const { code, output } = await run(join(folder, 'venv', 'bin', 'python'), args, {
        cwd: folder,
        minutesMax: 1,
      })
      checks.set(name, code === 0 ? undefined : output)
    }
    return checks
  },
)
