/**
 * The health check of a container: a gateway must be ready, a store must answer, every other role must serve its
 * metrics where ATTRIBUTION_METRICS_PORT is set. Looks at the process with id 1 for the role and its options.
 */
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { get as getSecurely } from 'node:https'

const TIMEOUT_MS = 3_000
const args = readFileSync('/proc/1/cmdline', 'utf8').split('\0')
const role = args.map((arg) => /\/dist\/cmd\/(\w+)\/main\.js$/.exec(arg)?.[1]).find((found) => found !== undefined)

/** An option of the role: its flag, else its variable, else its default. */
function option(/** @type {string} */ name, /** @type {string} */ fallback) {
  const flag = `--${name}`
  const at = args.indexOf(flag)
  const given = at >= 0 ? args[at + 1] : args.find((arg) => arg.startsWith(`${flag}=`))?.slice(flag.length + 1)
  return given ?? process.env[`ATTRIBUTION_${name.toUpperCase().replaceAll('-', '_')}`] ?? fallback
}

function addressOf() {
  if (role === 'gateway') {
    const scheme = option('tls-cert-file', '') === '' ? 'http' : 'https'
    return `${scheme}://127.0.0.1:${option('port', '8080')}/readyz`
  }
  if (role === 'store') return `http://127.0.0.1:${option('store-port', '8123')}/ping`
  const port = option('metrics-port', '0')
  return port === '0' ? undefined : `http://127.0.0.1:${port}/metrics`
}

/** Whether something answers; a refused credential is an answer. */
const answers = (/** @type {string} */ url) =>
  new Promise((resolve) => {
    const ask = url.startsWith('https:') ? getSecurely : get
    // The certificate is for the name by which clients know the service.
    const request = ask(url, { timeout: TIMEOUT_MS, rejectUnauthorized: false }, ({ statusCode = 0 }) => {
      resolve(statusCode < 300 || statusCode === 401)
    })
    request.once('timeout', () => request.destroy())
    request.once('error', () => resolve(false))
  })

const url = addressOf()
process.exit(url === undefined || (await answers(url)) ? 0 : 1)
