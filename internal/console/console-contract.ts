import { z } from 'zod'
import type { Operation } from '../http/contract/operation.js'

/** The contract of the console's files: a page for people, which uses the public API alone. */

const page: Operation['replies'] = {
  200: {
    description: 'The page. It loads its scripts and styles, and reads its figures over the API.',
    contents: { 'text/html': { schema: z.string() } },
  },
  304: { description: 'Not modified: If-None-Match matches the current ETag.' },
}

export const GET_CONSOLE: Operation = {
  id: 'getConsole',
  tag: 'Console',
  summary: 'Get the console',
  description: 'People sign in there by authorization code with PKCE.',
  query: {
    tenant: z
      .string()
      .optional()
      .meta({ description: 'Read by the page alone: at which tenant the person signs in.', examples: ['tnt_example'] }),
  },
  replies: page,
}

export const GET_CONSOLE_PAGE: Operation = {
  id: 'getConsolePage',
  tag: 'Console',
  summary: 'Get a page of the console',
  description: 'The same document for every page: its script shows the page that the address names.',
  parameters: { page: z.string().meta({ description: 'Read by the page alone.', examples: ['explorer'] }) },
  replies: page,
}

export const GET_CONSOLE_FILE: Operation = {
  id: 'getConsoleFile',
  tag: 'Console',
  summary: 'Get a script or style of the console',
  description:
    'Its name changes with its content, so that it can be cached for good. Compressed as Accept-Encoding permits.',
  parameters: { file: z.string().meta({ examples: ['main-Cx1b2d3f.js'] }) },
  replies: {
    200: {
      description: 'The file.',
      contents: {
        'text/javascript': { schema: z.string() },
        'text/css': { schema: z.string() },
        'image/svg+xml': { schema: z.string() },
      },
    },
  },
  problems: ['NOT_FOUND'],
}
