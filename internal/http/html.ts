import { createHash } from 'node:crypto'

/** HTML pages served without the console: plain documents without scripts. */

/** Colours and type are those of the console (`console/app/styles/1-tokens.css`), whose sign-in these pages are. */
const STYLE = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#fbfaf7, #16181a);
  --sheet: light-dark(#ffffff, #1d2022);
  --ink: light-dark(#1f2322, #e4e6e3);
  --muted: light-dark(#5d6462, #a0a7a4);
  --accent: light-dark(#1f5c4d, #7cc4ae);
  --on-accent: light-dark(#ffffff, #10211c);
  --bad: light-dark(#a3261b, #f0938a);
}
html { background: var(--paper); color: var(--ink); }
body { font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Open Sans", sans-serif; margin: 0; }
main { width: min(42rem, 100% - 2rem); margin: 3rem auto; }
h1 { font-size: 1.5rem; line-height: 1.2; overflow-wrap: anywhere; }
a { color: var(--accent); }
dt { font-weight: 600; margin-top: 1rem; }
dd { margin: 0; }
label { display: block; font-weight: 600; margin-top: 1rem; }
input, button, .button { font: inherit; color: inherit; background: var(--sheet); border: 1px solid var(--muted);
  border-radius: 3px; }
input { box-sizing: border-box; width: 100%; padding: .5rem; margin-top: .25rem; }
input[type=checkbox], input[type=radio] { width: auto; accent-color: var(--accent); }
button, .button { padding: .5rem 1.25rem; cursor: pointer; }
button { margin: 1.5rem .5rem 0 0; }
button:first-of-type { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.button { display: inline-block; margin-top: .5rem; text-decoration: none; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.qr svg { display: block; width: 14rem; max-width: 100%; height: auto; }
.failure { border-left: .25rem solid var(--bad); padding: .25rem .75rem; }
`

export const HTML_TYPE = 'text/html; charset=utf-8'

/** No scripts, no fetches, no framing; the only stylesheet is allowed by its hash. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "frame-ancestors 'none'",
]

/**
 * The headers of a page, except Content-Type and Cache-Control.
 *
 * @param isHttps whether the service is reached over HTTPS; browsers ignore HSTS otherwise
 * @param formTargets origins a form of the page may submit or redirect to, beside our own; empty for a page without a
 * form
 */
export function pageHeaders(
  isHttps: boolean,
  formTargets: readonly string[] = [],
): readonly (readonly [name: string, value: string])[] {
  const formAction = formTargets.length === 0 ? "form-action 'none'" : `form-action 'self' ${formTargets.join(' ')}`
  return [
    ['Content-Security-Policy', [...POLICY, formAction].join('; ')],
    ['X-Frame-Options', 'DENY'],
    ['X-Content-Type-Options', 'nosniff'],
    // Our URLs must not leak to other sites; a form submission still needs its Origin header.
    ['Referrer-Policy', formTargets.length === 0 ? 'no-referrer' : 'same-origin'],
    ...(isHttps ? [['Strict-Transport-Security', 'max-age=31536000'] as const] : []),
  ]
}

/** @param content HTML; foreign text in it must already be escaped */
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

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** For text and quoted attributes. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
