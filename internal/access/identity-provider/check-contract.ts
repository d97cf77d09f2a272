import { z } from 'zod'
import { json, type Operation } from '../../http/contract/operation.js'
import { exampleId, idInPath, idOf } from '../../text/answer-fields.js'
import { ASPECTS, VERDICTS } from './set-up-check.js'

/** Request and response of the set-up check. */

export const PATH = '/api/v1/identity-providers'

const check = z
  .object({
    id: idOf('idp'),
    name: z.string(),
    issuer: z.string(),
    redirect_uri: z.string().meta({ description: 'The address to register with the provider.' }),
    findings: z
      .array(
        z.object({
          aspect: z.enum(ASPECTS),
          verdict: z.enum(VERDICTS).meta({
            description: '`depends`: on how the provider is set up, which its description does not tell.',
          }),
          detail: z.string(),
        }),
      )
      .readonly(),
  })
  .meta({ id: 'IdentityProviderCheck' })
export type ShownCheck = z.infer<typeof check>

const EXAMPLE: ShownCheck = {
  id: exampleId('idp'),
  name: 'Example SSO',
  issuer: 'https://sso.example.com',
  redirect_uri: `https://attribution.example.com/v1/oauth/callback/${exampleId('idp')}`,
  findings: [
    { aspect: 'description', verdict: 'works', detail: 'https://sso.example.com describes itself.' },
    { aspect: 'recent_sign_in', verdict: 'does_not_work', detail: 'It never states auth_time.' },
  ],
}

export const CHECK_PROVIDER: Omit<Operation, 'body'> = {
  id: 'checkIdentityProvider',
  tag: 'Settings',
  summary: 'Check the set-up of the identity provider',
  description:
    "Reads the provider's description and keys, and says what of signing in there will and will not work. " +
    '`GET /api/v1/settings` shows the id.',
  parameters: { id: idInPath('idp', 'Id of the identity provider.') },
  problems: ['NOT_FOUND'],
  replies: { 200: { description: 'What was found.', contents: json(check, EXAMPLE) } },
}
