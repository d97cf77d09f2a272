import type { Exchange } from '../http/exchange.js'
import { HTML_TYPE } from '../http/html.js'
import { publicDocument, replyDocument } from '../http/public-document.js'
import type { Route } from '../http/route.js'
import { problem } from '../problems/problem-catalogue.js'
import { type BuiltConsole, encodingFor } from './built.js'
import { GET_CONSOLE, GET_CONSOLE_FILE, GET_CONSOLE_PAGE } from './console-contract.js'

/**
 * What the page may do: run and read what this service serves, nothing inline, nothing from elsewhere; no text becomes
 * HTML or a script, whatever a name from outside contains (Trusted Types).
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const headersOf = (isHttps: boolean): readonly string[] => [
  `Content-Security-Policy: ${POLICY}`,
  'X-Frame-Options: DENY',
  'X-Content-Type-Options: nosniff',
  'Referrer-Policy: no-referrer',
  'Cross-Origin-Opener-Policy: same-origin',
  'Cross-Origin-Resource-Policy: same-origin',
  'Permissions-Policy: camera=(), geolocation=(), microphone=(), payment=()',
  ...(isHttps ? ['Strict-Transport-Security: max-age=31536000'] : []),
]

/**
 * The console: static files without tenant data, served to anybody.
 *
 * @param intakePort what the page tells people to send to; 0: there is none
 */
export function consoleRoutes(
  { document, files }: BuiltConsole,
  baseUrl: string,
  intakePort: number,
): readonly Route[] {
  const common = headersOf(baseUrl.startsWith('https:'))
  const stated = document.replace('%intake-port%', String(intakePort))
  // It names the files of this version: one that was kept would name those of an older one.
  const page = publicDocument(stated, [`Content-Type: ${HTML_TYPE}`, ...common], 'no-cache')
  const replyPage = (exchange: Exchange): void => {
    const address = addressByNumber(exchange, baseUrl)
    if (address === undefined) replyDocument(exchange, page)
    else exchange.reply(`302 Found\r\nLocation: ${address}\r\nCache-Control: no-store`, '')
  }
  // The same document again, at the addresses that people see.
  const ofTenant = {
    method: 'get',
    access: 'public',
    operation: GET_CONSOLE_PAGE,
    isUndescribed: true,
    handle: replyPage,
  } as const
  return [
    { method: 'get', path: '/console', access: 'public', operation: GET_CONSOLE, handle: replyPage },
    { method: 'get', path: '/console/:page', access: 'public', operation: GET_CONSOLE_PAGE, handle: replyPage },
    { ...ofTenant, path: '/console/t/:tenant' },
    { ...ofTenant, path: '/console/t/:tenant/:page' },
    {
      method: 'get',
      path: '/console/assets/:file',
      access: 'public',
      operation: GET_CONSOLE_FILE,
      handle(exchange) {
        const file = files.get(exchange.parameter)
        if (file === undefined) return exchange.replyProblem(problem('NOT_FOUND', 'The console has no such file.'))
        const encoding = encodingFor(exchange.header('accept-encoding'))
        const lines = [
          `Content-Type: ${file.contentType}`,
          ...(encoding === 'identity' ? [] : [`Content-Encoding: ${encoding}`]),
          'Vary: Accept-Encoding',
          'Cache-Control: public, max-age=31536000, immutable',
          ...common,
        ]
        exchange.reply(`200 OK\r\n${lines.join('\r\n')}`, file.bodies[encoding])
      },
    },
  ]
}

/** A person types `localhost` where the service is `127.0.0.1`, and only that address may receive their sign-in. */
function addressByNumber({ headers, path, query }: Exchange, baseUrl: string): string | undefined {
  const { host, port, hostname } = new URL(baseUrl)
  const isNamed = headers.host === `localhost:${port}` && hostname === '127.0.0.1' && host !== headers.host
  return isNamed ? `${baseUrl}${path}${query === '' ? '' : `?${query}`}` : undefined
}
