import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Which top folder may import which. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  cmd: ['cmd', 'internal', 'streams'],
  internal: ['internal', 'streams'],
  streams: ['streams'],
}
/**
 * The layers of internal/, lowest first: a folder imports from rows above it, and nothing of its own row or of
 * rows below. Areas share a row: they meet in streams, and in the store through functions that a main passes in.
 */
const LAYERS: readonly (readonly string[])[] = [
  // The client library is what others install: it imports nothing of ours.
  ['ids', 'units', 'problems', 'telemetry', 'sdk'],
  ['residency', 'text', 'repeats'],
  ['records'],
  ['usage'],
  ['config', 'invocations', 'auth'],
  ['process', 'broker', 'cohorts', 'filters'],
  ['secrets', 'events', 'outbound'],
  ['store'],
  ['http'],
  ['valuation', 'directory'],
  ['inference'],
  [
    'ingest',
    'attribution',
    'access',
    'reports',
    'exports',
    'webhooks',
    'sentinel',
    'audit',
    'event-log',
    'sql',
    'console',
  ],
  // A partner's view of other areas, and what only `up` and the command line use.
  ['partner', 'local'],
]
/** Who may import values of a package; its types may be named anywhere. */
const SPEAKS: readonly (readonly [pattern: RegExp, folders: readonly string[]])[] = [
  [/^@clickhouse\//, ['internal/store/', 'cmd/']],
  [/^@nats-io\//, ['internal/broker/', 'cmd/', 'streams/']],
]
/** What streams may take from the broker's package: the words in which a stream is declared, and nothing that acts. */
const STREAM_WORDS = [
  'DiscardPolicy',
  'RetentionPolicy',
  'StorageType',
  'StreamConfig',
  'AckPolicy',
  'DeliverPolicy',
  'ConsumerConfig',
]

interface Import {
  /** Path from the root, with slashes. */
  readonly from: string
  /** Path from the root for a file of ours, else the package. */
  readonly to: string
  readonly isTypeOnly: boolean
  /** Names imported as values. */
  readonly values: readonly string[]
}

const posix = (path: string): string => path.split(sep).join('/')

function sourcesOf(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|tsx|mts)$/.test(entry.name))
    .map((entry) => posix(relative(ROOT, join(entry.parentPath, entry.name))))
}

const codeOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

const STATIC = /^(?:import|export)\s+(type\s+)?(?:([\w$*\s{},]*?)\s*from\s*)?['"]([^'"]+)['"]/gm
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]/g

function importsOf(file: string, code = codeOf(file)): Import[] {
  const resolve = (specifier: string): string =>
    specifier.startsWith('.') ? posix(relative(ROOT, join(ROOT, dirname(file), specifier))) : specifier
  const statics = [...code.matchAll(STATIC)].map(([, type, names = '', specifier = '']): Import => {
    const values = type === undefined ? valuesIn(names) : []
    return {
      from: file,
      to: resolve(specifier),
      isTypeOnly: type !== undefined || (names !== '' && values.length === 0),
      values,
    }
  })
  const dynamics = [...code.matchAll(DYNAMIC)].map(([, specifier = '']): Import => {
    return { from: file, to: resolve(specifier), isTypeOnly: false, values: ['*'] }
  })
  return [...statics, ...dynamics]
}

/** The names of an import clause that are not marked as types. */
const valuesIn = (clause: string): string[] =>
  clause
    .replace(/[{}]/g, ',')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && !name.startsWith('type '))

const FOLDERS = Object.keys(MAY_IMPORT)
const FILES = FOLDERS.flatMap(sourcesOf)
const IMPORTS = FILES.flatMap((file) => importsOf(file))
const shown = ({ from, to }: Import): string => `${from} -> ${to}`
const topOf = (path: string): string => path.split('/')[0] ?? ''
/** The folder of internal/ that a file is in; undefined for a file of another top folder. */
const folderOf = (path: string): string | undefined => /^internal\/([^/]+)\//.exec(path)?.[1]
const layerOf = (folder: string): number => LAYERS.findIndex((row) => row.includes(folder))

/** Groups that reach each other. @param edges who imports whom */
function circlesOf(edges: Iterable<readonly [from: string, to: string]>): string[][] {
  const reaches = new Map<string, Set<string>>()
  for (const [from, to] of edges) reaches.set(from, (reaches.get(from) ?? new Set()).add(to))
  const reachedFrom = (start: string): Set<string> => {
    const reached = new Set<string>()
    const open = [start]
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      for (const next of reaches.get(place) ?? []) {
        if (!reached.has(next)) open.push(next)
        reached.add(next)
      }
    }
    return reached
  }
  const reached = new Map([...reaches.keys()].map((place) => [place, reachedFrom(place)]))
  const circles = [...reached].flatMap(([place, all]) =>
    all.has(place) ? [[...all].filter((other) => reached.get(other)?.has(place)).sort()] : [],
  )
  return [...new Map(circles.map((circle) => [circle.join(), circle])).values()]
}

/** Over imports of values. */
const circlesOfFolders = (imports: readonly Import[]): string[][] =>
  circlesOf(
    imports.flatMap(({ from, to, isTypeOnly }) => {
      const [one, other] = [dirname(from), dirname(to)]
      return isTypeOnly || one === other || !FOLDERS.includes(topOf(to)) ? [] : [[one, other] as const]
    }),
  )

/** Over imports of values and types. An import names the file as it is compiled. */
const circlesOfFiles = (imports: readonly Import[]): string[][] =>
  circlesOf(imports.map(({ from, to }) => [from.replace(/\.tsx?$/, ''), to.replace(/\.js$/, '')] as const))

describe('reading imports', () => {
  const read = (code: string) => importsOf('internal/one/file.ts', code)

  test('sees every form of them', () => {
    expect(read("import { a, type B } from '../two/x.js'")).toMatchObject([
      { to: 'internal/two/x.js', isTypeOnly: false, values: ['a'] },
    ])
    expect(read("import {\n  a,\n  b,\n} from 'p'\n")).toMatchObject([
      { to: 'p', isTypeOnly: false, values: ['a', 'b'] },
    ])
    expect(read("import type { A } from 'p'")).toMatchObject([{ to: 'p', isTypeOnly: true }])
    expect(read("import { type A, type B } from 'p'")).toMatchObject([{ to: 'p', isTypeOnly: true }])
    expect(read("import * as all from 'p'")).toMatchObject([{ isTypeOnly: false, values: ['* as all'] }])
    expect(read("import one, { two } from 'p'")).toMatchObject([{ isTypeOnly: false, values: ['one', 'two'] }])
    expect(read("import 'p'")).toMatchObject([{ to: 'p', isTypeOnly: false }])
    expect(read("export { a } from './y.js'")).toMatchObject([{ to: 'internal/one/y.js', isTypeOnly: false }])
    expect(read("export * from './y.js'")).toMatchObject([{ to: 'internal/one/y.js', isTypeOnly: false }])
    expect(read("const p = await import('../../cmd/x.js')")).toMatchObject([{ to: 'cmd/x.js', isTypeOnly: false }])
  })

  test('finds a circle of folders, through others too, and none among types', () => {
    const byValue = (from: string, to: string): Import => ({ from, to, isTypeOnly: false, values: ['x'] })
    const round = [
      byValue('internal/a/one.ts', 'internal/b/two.js'),
      byValue('internal/b/three.ts', 'internal/c/d/four.js'),
      byValue('internal/c/d/five.ts', 'internal/a/six.js'),
      byValue('internal/a/one.ts', 'internal/e/seven.js'),
    ]

    expect(circlesOfFolders(round)).toEqual([['internal/a', 'internal/b', 'internal/c/d']])
    expect(circlesOfFolders(round.map((each, at) => ({ ...each, isTypeOnly: at === 1 })))).toEqual([])
  })

  test('finds a circle of files, through others and among types too', () => {
    const ofType = (from: string, to: string): Import => ({ from, to, isTypeOnly: true, values: [] })
    const round = [
      ofType('internal/a/one.ts', 'internal/a/two.js'),
      ofType('internal/a/two.ts', 'internal/a/three.js'),
      ofType('internal/a/three.tsx', 'internal/a/one.js'),
      ofType('internal/a/three.tsx', 'internal/a/four.js'),
    ]

    expect(circlesOfFiles(round)).toEqual([['internal/a/one', 'internal/a/three', 'internal/a/two']])
    expect(circlesOfFiles(round.slice(1))).toEqual([])
  })

  test('finds the files that there are', () => {
    for (const folder of FOLDERS) expect(FILES.filter((file) => topOf(file) === folder)).not.toHaveLength(0)
    expect(IMPORTS.filter(({ to }) => to.startsWith('@nats-io/'))).not.toHaveLength(0)
    expect(IMPORTS.filter(({ to }) => to.startsWith('@clickhouse/'))).not.toHaveLength(0)
  })
})

test('imports point cmd -> internal -> streams, never back, and leave the three only for packages', () => {
  const wrong = IMPORTS.filter(({ from, to }) => {
    const isOurs = to.includes('/') && [...FOLDERS, 'test', 'bench', 'deploy', 'dist', '..'].includes(topOf(to))
    return isOurs && !MAY_IMPORT[topOf(from)]?.includes(topOf(to))
  })

  expect(wrong.map(shown)).toEqual([])
})

test('every relative import stays in the repository and names a file that is there', () => {
  const present = new Set(FILES)
  const wrong = IMPORTS.filter(
    ({ to }) =>
      FOLDERS.includes(topOf(to)) &&
      !to.endsWith('.json') &&
      ![to.replace(/\.js$/, '.ts'), to.replace(/\.js$/, '.tsx')].some((file) => present.has(file)),
  )

  expect(wrong.map(shown)).toEqual([])
})

test('every folder of internal/ has one layer', () => {
  const folders = readdirSync(join(ROOT, 'internal'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)

  expect(LAYERS.flat().sort()).toEqual(folders.sort())
})

test('a folder of internal/ imports, values and types, from the layers above it only', () => {
  const wrong = IMPORTS.filter(({ from, to }) => {
    const [one, other] = [folderOf(from), folderOf(to)]
    return one !== undefined && other !== undefined && one !== other && layerOf(other) >= layerOf(one)
  })

  expect(wrong.map(shown)).toEqual([])
})

test('no folders, however deep, import values of each other in a circle', () => {
  expect(circlesOfFolders(IMPORTS)).toEqual([])
})

test('no files import each other in a circle, values or types', () => {
  expect(circlesOfFiles(IMPORTS)).toEqual([])
})

test.each(SPEAKS)('only those who speak it import values of %s: %j', (pattern, folders) => {
  const wrong = IMPORTS.filter(
    ({ from, to, isTypeOnly }) => pattern.test(to) && !isTypeOnly && !folders.some((folder) => from.startsWith(folder)),
  )

  expect(wrong.map(shown)).toEqual([])
})

/** A loop over many, and in it a message that is published and awaited alone. */
const SINGLE_IN_LOOP =
  /(?:\bfor \((?:const|let) [^\n]* of |\.map\()(?:[^\n]*\n){0,3}?[^\n]*\b(?:publish|stored)OrThrow\(/

test('messages made in a loop are published as groups: a broker that syncs takes too few single ones', () => {
  const found = FILES.filter((file) => /^(?:cmd|internal)\//.test(file) && SINGLE_IN_LOOP.test(codeOf(file)))

  expect(found).toEqual([
    // The groups that a broker refuses.
    'internal/broker/publisher.ts',
    // States the sequence of each message, which groups cannot; a message holds up to 100 deliveries.
    'internal/webhooks/fan-out.ts',
  ])
})

test('streams declare and do nothing: they take only words from the broker’s package', () => {
  const wrong = IMPORTS.filter(({ from, to, values }) => {
    return (
      topOf(from) === 'streams' && !to.startsWith('streams/') && !values.every((name) => STREAM_WORDS.includes(name))
    )
  })

  expect(wrong.map(shown)).toEqual([])
})

test('the environment is read in mains, tests, benches and deployment only', () => {
  const reading = ['internal', 'streams']
    .flatMap(sourcesOf)
    .filter((file) =>
      /\bprocess\s*(\.\s*env|\[\s*['"]env)|\bimport\b[^;\n]*\benv\b[^;\n]*['"](node:)?process['"]/.test(codeOf(file)),
    )

  expect(reading).toEqual([])
})

test('a main has under 80 lines: what it starts is elsewhere', () => {
  const linesOf = (file: string): number => codeOf(file).trimEnd().split('\n').length
  const mains = sourcesOf('cmd').filter((file) => file.endsWith('/main.ts'))

  expect(mains).toHaveLength(9)
  expect(mains.map((file) => [file, linesOf(file)]).filter(([, lines]) => Number(lines) >= 80)).toEqual([])
})

test('packages that are imported are dependencies, not something that lies about', () => {
  const { name, dependencies, optionalDependencies } = JSON.parse(codeOf('package.json'))
  // Types of the API are imported as users of the client library import them.
  const declared = new Set([name, ...Object.keys({ ...dependencies, ...optionalDependencies })])
  const isOurs = (to: string): boolean => FOLDERS.includes(topOf(to)) && to.includes('/')
  const isBuiltin = (to: string): boolean => to.startsWith('node:') || builtinModules.includes(to)
  const packageOf = (to: string): string => to.split('/', to.startsWith('@') ? 2 : 1).join('/')

  const wrong = IMPORTS.filter(({ to }) => !isOurs(to) && !isBuiltin(to) && !declared.has(packageOf(to)))

  expect(wrong.map(shown)).toEqual([])
})

test('built-in modules are imported by their full name', () => {
  expect(IMPORTS.filter(({ to }) => builtinModules.includes(to)).map(shown)).toEqual([])
})

test('no folder is a place for anything', () => {
  const vague = FILES.filter((file) => /\/(utils?|helpers?|common|shared|types)\//.test(file))

  expect(vague).toEqual([])
})

test('no test is skipped, left for later or run alone', () => {
  const wrong = sourcesOf('test').filter((file) => /\b(test|describe|it)\.(skip|only|todo)\b/.test(codeOf(file)))

  expect(wrong).toEqual([])
})
