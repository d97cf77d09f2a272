import { z } from 'zod'
import type { ResourceContract } from '../../http/resource/resource-operations.js'
import { exampleId, idOf, timeText } from '../../text/answer-fields.js'
import { rangeParameters } from '../../text/time-range.js'
import { type AnnotationChanges, type AnnotationFields, annotationChanges, annotationFields } from './annotation.js'

/** The contract of annotations. */

const annotation = z
  .object({
    id: idOf('ann'),
    at: timeText(),
    text: z.string(),
    link: z.string().nullable(),
    service: z.string().nullable(),
    created_at: timeText(),
    created_by: z.string().meta({ description: 'Id of the credential that wrote it.' }),
  })
  .meta({ id: 'Annotation' })
export type ShownAnnotation = z.infer<typeof annotation>

const EXAMPLE_FIELDS = {
  text: 'checkout 4.2: answers of up to 2,000 tokens',
  link: 'https://git.example.com/checkout/releases/4.2',
  service: 'checkout',
}

export const ANNOTATION = {
  path: '/api/v1/annotations',
  prefix: 'ann',
  tag: 'Reports',
  word: 'Annotation',
  plural: 'Annotations',
  order: 'newest first',
  filters: {
    ...rangeParameters('annotations'),
    service: z.string().optional().meta({ description: 'Only annotations of this service, and of none.' }),
  },
  record: annotation,
  fields: annotationFields,
  changes: annotationChanges,
  example: {
    record: {
      id: exampleId('ann'),
      at: '2026-11-21T09:30:00.000Z',
      ...EXAMPLE_FIELDS,
      created_at: '2026-11-21T09:30:02.120Z',
      created_by: exampleId('key'),
    },
    fields: EXAMPLE_FIELDS,
    changes: { text: 'checkout 4.2, rolled back at 11:00' },
  },
  descriptions: {
    list: 'Releases and notes that people and pipelines have put on the time axis of the reports.',
    create:
      'A release or a note at a time, which charts show. Whoever reads reports may write one; it changes no figure, ' +
      'and every change is in the audit log. Annotations are deleted 800 days after their last change.',
    update: 'By the credential that wrote it, or with the scope `admin:config`.',
    delete: 'By the credential that wrote it, or with the scope `admin:config`.',
  },
} as const satisfies ResourceContract<AnnotationFields, AnnotationChanges>
