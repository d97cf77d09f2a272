import { z } from 'zod'
import { instant, name, plainText } from '../../text/plain-text.js'
import { parseInstant } from '../../units/instant.js'

/** A release, or a note, on the time axis of the reports. */

/** Annotations per tenant: sixty releases a day, for as long as they live. */
export const ANNOTATIONS_MAX = 50_000
const TEXT_BYTES_MAX = 500
const LINK_LENGTH_MAX = 1_000

/** People open it from the console: nothing but a page. */
const link = () =>
  z
    .string()
    .max(LINK_LENGTH_MAX)
    .regex(/^https?:\/\/[!-~]+$/, 'must be an http or https address')
    .meta({ description: 'Of a page that says more, such as the release.' })

const service = () => name().meta({ description: 'The service that it concerns.' })

export const annotationFields = z.strictObject({
  at: instant().optional().meta({ description: 'When it happened. Default: now.' }),
  text: plainText(TEXT_BYTES_MAX).meta({ description: 'One line, as the chart shows it.' }),
  link: link().nullish(),
  service: service().nullish(),
})
export type AnnotationFields = z.infer<typeof annotationFields>

export const annotationChanges = annotationFields.partial()
export type AnnotationChanges = z.infer<typeof annotationChanges>

/** An annotation in the bucket `annotations`, under its id. */
export interface StoredAnnotation {
  readonly id: string
  readonly tenant_id: string
  readonly at: string
  readonly text: string
  readonly link: string | null
  readonly service: string | null
  readonly created_at: string
  /** Id of the credential that wrote it. */
  readonly created_by: string
}

export const storedAnnotation = (
  { at, text, link: page, service: named }: AnnotationFields,
  of: { readonly id: string; readonly tenantId: string; readonly principal: string; readonly nowMs: number },
): StoredAnnotation => ({
  id: of.id,
  tenant_id: of.tenantId,
  at: at === undefined ? new Date(of.nowMs).toISOString() : canonical(at),
  text,
  link: page ?? null,
  service: named ?? null,
  created_at: new Date(of.nowMs).toISOString(),
  created_by: of.principal,
})

export const changedAnnotation = (before: StoredAnnotation, stated: AnnotationChanges): StoredAnnotation => ({
  ...before,
  ...(stated.at !== undefined && { at: canonical(stated.at) }),
  ...(stated.text !== undefined && { text: stated.text }),
  ...(stated.link !== undefined && { link: stated.link }),
  ...(stated.service !== undefined && { service: stated.service }),
})

/** One form, so that texts sort as times do. */
function canonical(text: string): string {
  const ms = parseInstant(text)
  if (ms === undefined) throw new RangeError('the schema has checked the time')
  return new Date(ms).toISOString()
}
