import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { installed } from '../../support/clients/installed.js'
import { run } from '../../support/clients/run.js'
import { atEnd } from '../../support/run/at-end.js'

/**
 * Types of the packed library around each major of the SDKs that come from npm: the compiler checks programs that call
 * nothing. `types-openai.test.ts` and `types-anthropic.test.ts` say more of the versions that are among our packages.
 */

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** With the download, on a slow machine. */
const TIMEOUT_MS = 15 * 60_000

const OURS = `
import { Attribution } from 'attribution-service-client'
import { expectTypeOf } from 'vitest'
const attribution = new Attribution({ baseUrl: 'http://service.test', apiKey: 'k' })
`

const openai = (sdk: string): string => `
import OpenAI, { type APIPromise } from '${sdk}'
const client = attribution.wrap(new OpenAI({ apiKey: 'k' }), { service: 'search' })
const chat = { model: 'gpt-4o', messages: [] }
const { completions } = client.chat
expectTypeOf(client).toEqualTypeOf<OpenAI>()
expectTypeOf(() => client.withOptions({ timeout: 1 })).returns.toEqualTypeOf<OpenAI>()
expectTypeOf(() => completions.create(chat)).returns.toEqualTypeOf<APIPromise<OpenAI.ChatCompletion>>()
expectTypeOf(() => completions.create(chat).asResponse()).returns.resolves.toEqualTypeOf<Response>()
expectTypeOf(() => completions.parse(chat)).returns.resolves.toExtend<OpenAI.ChatCompletion>()
// @ts-expect-error as unwrapped: a chat needs messages
expectTypeOf(() => completions.create({ model: 'gpt-4o' })).returns.not.toBeAny()
`

const anthropic = (sdk: string): string => `
import Anthropic from '${sdk}'
const client = attribution.wrap(new Anthropic({ apiKey: 'k' }), { service: 'search' })
const asked = { model: 'claude-sonnet-4-6', max_tokens: 1, messages: [] }
expectTypeOf(client).toEqualTypeOf<Anthropic>()
expectTypeOf(() => client.withOptions({ timeout: 1 })).returns.toEqualTypeOf<Anthropic>()
expectTypeOf(() => client.messages.create(asked)).returns.resolves.toExtend<Anthropic.Message>()
expectTypeOf(() => client.messages.stream(asked).finalMessage()).returns.resolves.toExtend<Anthropic.Message>()
// @ts-expect-error as unwrapped: a message needs a limit
expectTypeOf(() => client.messages.create({ model: 'm', messages: [] })).returns.not.toBeAny()
`

const google = (sdk: string): string => `
import { type GenerateContentResponse as Answer, GoogleGenAI } from '${sdk}'
const client = attribution.wrap(new GoogleGenAI({ apiKey: 'k' }), { service: 'search' })
const asked = { model: 'gemini-2.5-flash', contents: 'hi' }
const { models, chats } = client
expectTypeOf(client).toEqualTypeOf<GoogleGenAI>()
expectTypeOf(() => models.generateContent(asked)).returns.resolves.toEqualTypeOf<Answer>()
expectTypeOf(() => models.generateContentStream(asked)).returns.resolves.toEqualTypeOf<AsyncGenerator<Answer>>()
expectTypeOf(() => chats.create(asked).sendMessage({ message: 'hi' })).returns.resolves.toEqualTypeOf<Answer>()
// @ts-expect-error as unwrapped: contents are needed
expectTypeOf(() => models.generateContent({ model: 'm' })).returns.not.toBeAny()
`

/** As its middleware, and as the `fetch` of a provider. */
const aiSdk = (sdk: string, provider: string): string => `
import { createOpenAI } from '${provider}'
import { generateText, wrapLanguageModel } from '${sdk}'
const provider = createOpenAI({ fetch: attribution.fetch({ service: 'search' }) })
const middleware = attribution.middleware({ service: 'search' })
const model = wrapLanguageModel({ model: provider('gpt-5'), middleware })
expectTypeOf(model).not.toBeAny()
expectTypeOf(() => wrapLanguageModel({ model, middleware: [middleware] })).returns.toEqualTypeOf(model)
expectTypeOf(() => generateText({ model, prompt: 'hi' })).returns.resolves.toHaveProperty('text').toBeString()
// @ts-expect-error a middleware is no model
expectTypeOf(() => generateText({ model: middleware, prompt: 'hi' })).returns.not.toBeAny()
`

/** Version 5 wraps no models of embeddings. */
const aiSdkEmbedding = (sdk: string): string => `
import { embed, wrapEmbeddingModel } from '${sdk}'
const embedding = wrapEmbeddingModel({ model: provider.embedding('e'), middleware })
expectTypeOf(() => embed({ model: embedding, value: 'hi' })).returns.resolves.toHaveProperty('embedding')
`

/** By the names under which `test/clients/live/npm` installs the versions. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'openai-7': openai('openai-7'),
  'openai-6': openai('openai'),
  'openai-5': openai('openai-5'),
  'anthropic-1': anthropic('@anthropic-ai/sdk'),
  'anthropic-0': anthropic('anthropic-0'),
  'genai-3': google('genai-3'),
  'genai-2': google('genai-2'),
  'genai-1': google('genai-1'),
  'ai-7': aiSdk('ai-7', 'ai-7-openai') + aiSdkEmbedding('ai-7'),
  'ai-6': aiSdk('ai', '@ai-sdk/openai') + aiSdkEmbedding('ai'),
  'ai-5': aiSdk('ai-5', 'ai-5-openai'),
}

const OPTIONS = {
  ...{ target: 'es2023', lib: ['es2023'], module: 'nodenext', types: ['node'], noEmit: true },
  // Declarations of the AI SDK name what only browsers have.
  ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true },
  typeRoots: [join(ROOT, 'node_modules', '@types')],
  paths: { vitest: [join(ROOT, 'node_modules', 'vitest', 'dist', 'index.d.ts')] },
}

test('a client of any major, and a model of the AI SDK, keep their types when they are wrapped', {
  timeout: TIMEOUT_MS,
}, async (context) => {
  const packages = await installed('npm')
  if ('reason' in packages) return context.skip(packages.reason)
  const cwd = mkdtempSync(join(packages.path, 'types-'))
  atEnd(() => rmSync(cwd, { recursive: true }))
  const packing = [join(ROOT, 'deploy', 'setup', 'client-package.mjs'), join(cwd, 'packed')]
  const packed = await run(process.execPath, packing, { cwd, minutesMax: 5 })
  expect(packed.code, packed.output).toBe(0)
  mkdirSync(join(cwd, 'node_modules'))
  symlinkSync(join(cwd, 'packed', 'package'), join(cwd, 'node_modules', 'attribution-service-client'))
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions: OPTIONS, include: ['*.mts'] }))
  for (const [name, program] of Object.entries(PROGRAMS)) writeFileSync(join(cwd, `${name}.mts`), OURS + program)

  const compiling = [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', '.']
  const compiled = await run(process.execPath, compiling, { cwd, minutesMax: 5 })

  expect(compiled).toEqual({ code: 0, output: '' })
})
