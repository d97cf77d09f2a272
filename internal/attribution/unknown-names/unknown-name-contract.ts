import { z } from 'zod'
import { serviceName } from '../../directory/entries.js'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { count, decimalText, exampleId, idOf, timeText } from '../../text/answer-fields.js'
import { instant, name } from '../../text/plain-text.js'

/** The contract of names that events state and the directory does not contain. */

export const PATH = '/api/v1/directory/unknown-names'
export const DAYS_DEFAULT = 30

const unknownName = z
  .object({
    name: z.string().meta({ description: 'As the events state it.' }),
    calls: count(),
    cost_usd: decimalText(),
    nearest_services: z.array(z.string()).meta({
      description:
        'Services of the directory with a name or alias of few other letters or mostly the same words, the closest ' +
        'first.',
    }),
  })
  .meta({ id: 'UnknownName' })

const period = { from: timeText(), to: timeText() }

export const LIST_UNKNOWN_NAMES: Operation = {
  id: 'listUnknownNames',
  tag: 'Directory',
  summary: 'List the services that events state and the directory does not contain, the most costly first',
  description:
    'Services only, never identities. Names of cost pools are left out. The figures are those of the calls that ' +
    'state the name, and of calls that have it from their trace.',
  query: {
    ...PAGE_PARAMETERS,
    from: timeText()
      .optional()
      .meta({ description: `Calls at or after this time. Default: ${DAYS_DEFAULT} days before \`to\`.` }),
    to: timeText().optional().meta({ description: 'Calls before this time. Default: now.' }),
  },
  replies: {
    200: {
      description: 'A page of names. The period is that of the figures, in quarters of an hour.',
      contents: json(pageOf(unknownName).extend({ period: z.object(period) }), {
        data: [{ name: 'suport-chat', calls: 1_204, cost_usd: '18.42', nearest_services: ['support-chat'] }],
        page: { limit: 50, has_more: false },
        period: { from: '2026-10-22T09:30:00.000Z', to: '2026-11-21T09:30:00.000Z' },
      }),
    },
  },
}

export const aliasBody = z
  .strictObject({
    name: serviceName().meta({ description: 'The name to make an alias.' }),
    service: name().meta({ description: 'The service of the directory that it stands for.' }),
    from: instant()
      .nullish()
      .meta({ description: `Calls at or after this time. Default: ${DAYS_DEFAULT} days before \`to\`.` }),
    to: instant().nullish().meta({ description: 'Calls before this time. Default: now.' }),
  })
  .meta({ id: 'NewAlias' })
export type AliasBody = z.infer<typeof aliasBody>
export const EXAMPLE_ALIAS: AliasBody = { name: 'suport-chat', service: 'support-chat' }

const assigned = z
  .object({
    name: z.string(),
    service: z.string(),
    reattribution: z.object({ id: idOf('rea'), ...period }),
  })
  .meta({ id: 'AssignedAlias' })

export const ASSIGN_UNKNOWN_NAME: Operation = {
  id: 'assignUnknownName',
  tag: 'Directory',
  summary: 'Make a name an alias of a service, and re-attribute its calls',
  description:
    'Calls of the period that are attributed to the name are attributed again by the directory with the alias. ' +
    'Overridden and disputed records stay as they are. Later calls that state the name are attributed to the service.',
  replies: {
    202: {
      description: 'The alias is in force, and a job re-attributes the calls.',
      contents: json(assigned, {
        name: 'suport-chat',
        service: 'support-chat',
        reattribution: {
          id: exampleId('rea'),
          from: '2026-10-22T09:30:00.000Z',
          to: '2026-11-21T09:30:00.000Z',
        },
      }),
    },
  },
  problems: ['CONFLICT'],
}
