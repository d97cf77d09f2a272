import { ANNOTATIONS } from '../../../streams/buckets.js'
import type { Broker } from '../../broker/connect.js'
import { watchRecords } from '../../broker/watched-records.js'
import { pageOfAll } from '../../http/resource/collection.js'
import { type ResourceDeps, resource, watchedCollection } from '../../http/resource/resource.js'
import type { Route } from '../../http/route.js'
import { problem } from '../../problems/problem-catalogue.js'
import { readRange } from '../../text/time-range.js'
import { ANNOTATIONS_MAX, changedAnnotation, type StoredAnnotation, storedAnnotation } from './annotation.js'
import { ANNOTATION, type ShownAnnotation } from './annotation-contract.js'

export interface AnnotationRoutesDeps extends ResourceDeps {
  readonly broker: Broker
  /** Called once when a KV watch is lost. */
  readonly onLost: (cause: unknown) => void
}

/** `/api/v1/annotations`: releases and notes on the time axis of the reports. */
export async function openAnnotationRoutes({
  broker,
  onLost,
  ...deps
}: AnnotationRoutesDeps): Promise<readonly Route[]> {
  const annotations = await watchRecords<StoredAnnotation>(await broker.bucket(ANNOTATIONS), onLost)
  return resource(
    {
      ...ANNOTATION,
      // A pipeline that writes notes gets no key to the settings of the tenant.
      access: 'read:reporting',
      actions: { create: 'annotation.create', delete: 'annotation.delete' },
      max: ANNOTATIONS_MAX,
      collection: {
        ...watchedCollection(annotations),
        page(request, tenantId, show) {
          const { service, ...range } = request.filters
          const asked = readRange(range)
          if ('code' in asked) return asked
          const { fromMs = -Infinity, toMs = Infinity } = asked
          const isAsked = (each: StoredAnnotation): boolean => {
            const ms = Date.parse(each.at)
            const isOfService = service === undefined || each.service === null || each.service === service
            return ms >= fromMs && ms < toMs && isOfService
          }
          // Written in about the order of their times: the page is found soonest from the other end.
          const found = Array.from(annotations.of(tenantId)).reverse().filter(isAsked)
          return pageOfAll(
            request,
            found,
            ({ at, id }) => [at, id],
            'descending',
            (each) => show(each, each.id),
          )
        },
      },
      make(fields, tenantId, newId, principal) {
        const id = newId(ANNOTATION.prefix)
        return { id, key: id, record: storedAnnotation(fields, { id, tenantId, principal, nowMs: deps.clock() }) }
      },
      update: { action: 'annotation.update', apply: changedAnnotation },
      refuseChange: ({ created_by: author }, { principal, scopes }) =>
        author === principal || scopes.has('admin:config')
          ? undefined
          : problem('INSUFFICIENT_SCOPE', 'Somebody else wrote it: to change it needs the scope admin:config.'),
      show: ({ tenant_id: _, ...shown }): ShownAnnotation => shown,
      audited: ({ at, text, link, service }) => ({ at, text, link, service }),
    },
    deps,
  )
}
