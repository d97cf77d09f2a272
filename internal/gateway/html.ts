import { createHash } from 'node:crypto'

/** The few pages that we serve without the console: plain documents without scripts. */

const STYLE = `
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0; }
main { width: min(42rem, 100% - 2rem); margin: 3rem auto; }
h1 { font-size: 1.5rem; line-height: 1.2; overflow-wrap: anywhere; }
dt { font-weight: 600; margin-top: 1rem; }
dd { margin: 0; }
`

/** No script runs, nothing is fetched or sent, nobody frames the page; the one style is named by its hash. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** @param isHttps whether we are reached by https; browsers pass over HSTS elsewhere */
export const pageHeaders = (isHttps: boolean): readonly string[] => [
  'Content-Type: text/html; charset=utf-8',
  `Content-Security-Policy: ${POLICY}`,
  'X-Content-Type-Options: nosniff',
  'Referrer-Policy: no-referrer',
  ...(isHttps ? ['Strict-Transport-Security: max-age=31536000'] : []),
]

/** @param content HTML; whatever is not ours in it must be escaped */
export const htmlPage = (title: string, content: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} - Attribution Service</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`
