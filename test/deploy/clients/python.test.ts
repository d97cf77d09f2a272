import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { Answer } from '../../../internal/sdk/answer.js'
import { statedIn } from '../../../internal/sdk/answer-scanner.js'
import { derivedId } from '../../../internal/sdk/derived-id.js'
import { HOSTS } from '../../../internal/sdk/hosts.js'
import { MODEL_FORMS } from '../../../internal/sdk/model-forms.js'
import { STATED_USAGES } from '../../support/stated-usages.js'

const PACKAGE = new URL('../../../deploy/clients/python/', import.meta.url)
const TESTS = fileURLToPath(new URL('python', import.meta.url))

const python = (...args: readonly string[]) =>
  promisify(execFile)('python3', args, {
    cwd: TESTS,
    env: { ...process.env, PYTHONPATH: fileURLToPath(PACKAGE), PYTHONDONTWRITEBYTECODE: '1' },
    timeout: 300_000,
  })

test('the tests of the Python client pass, without any package', async () => {
  const { stderr } = await python('-m', 'unittest', '--verbose')

  expect(stderr).toMatch(/\nOK\n$/)
})

test('the Python client knows the hosts and forms of models that the service knows', async () => {
  const script = 'import json; from attribution_service._names import *; print(json.dumps([HOSTS, MODEL_FORMS]))'
  const [hosts, forms] = JSON.parse((await python('-c', script)).stdout) as [unknown, [string, string][]]

  expect(hosts).toEqual(
    Object.fromEntries(
      HOSTS.map(({ host, provider = null, region }) => [
        host,
        [provider, region?.source.replaceAll('\\/', '/') ?? null],
      ]),
    ),
  )
  expect(forms).toEqual(MODEL_FORMS.map(({ form, provider }) => [form.source.replaceAll('\\/', '/'), provider]))
})

test('both clients derive the same id of an answer that is read again', async () => {
  const texts = ['batch_1', 'msg_01XFDUDYJgAACzvnptvVoYEL', 'é😀']
  const script =
    'import json, sys; from attribution_service._call import derived_id; ' +
    'print(json.dumps([derived_id(text) for text in json.loads(sys.argv[1])]))'

  expect(JSON.parse((await python('-c', script, JSON.stringify(texts))).stdout)).toEqual(texts.map(derivedId))
})

test('both clients send the same usage and id of an answer', async () => {
  const answers = STATED_USAGES.map(({ parts }) => parts)
  const script = `
import json, sys
from attribution_service._answer import Answer
from attribution_service._scan import Scanner
def sent(parts):
    answer = Answer()
    Scanner(answer.see).feed(json.dumps(parts).encode())
    fields = answer.fields()
    return [fields["provider_usage"], fields["response_id"]]
print(json.dumps([sent(parts) for parts in json.loads(sys.argv[1])]))`

  expect(JSON.parse((await python('-c', script, JSON.stringify(answers))).stdout)).toEqual(
    answers.map((parts) => {
      const answer = new Answer()
      for (const stated of statedIn(parts)) answer.add(stated)
      const { provider_usage, response_id = null } = answer.facts()
      return [provider_usage, response_id]
    }),
  )
})

test('the version of the Python client is that of the service', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
  const { stdout } = await python('-c', 'import attribution_service; print(attribution_service.__version__)')

  expect(stdout.trim()).toBe(version)
  expect(readFileSync(new URL('pyproject.toml', PACKAGE), 'utf8')).toContain(`\nversion = "${version}"\n`)
})
