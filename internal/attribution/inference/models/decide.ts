import { promoted, type StoredModel, servingOf } from './version.js'

/** What an admin may decide about a version. */
export const DECISIONS = ['promote', 'recall', 'restore'] as const
export type Decision = (typeof DECISIONS)[number]

export type Decided =
  | { readonly kind: 'decided'; readonly version: StoredModel }
  /** Its artefact was removed for its age. */
  | { readonly kind: 'gone' }

/**
 * A version after a decision; the same one when it is so already, so that a decision can be repeated.
 *
 * A version that has not passed validation may be promoted by hand: it then serves below the chargeback floor.
 *
 * @param versions of its tenant, itself among them
 */
export function decided(
  version: StoredModel,
  decision: Decision,
  versions: Iterable<StoredModel>,
  nowMs: number,
): Decided {
  switch (decision) {
    case 'promote': {
      if (version.artefact === null) return { kind: 'gone' }
      const all = [...versions]
      const { model, state } = servingOf(all, true, () => false)
      // One that stands in for a recalled version does not stand in for it any more.
      if (model?.id === version.id && state === 'none') return { kind: 'decided', version }
      return { kind: 'decided', version: promoted(version, all, nowMs) }
    }
    case 'recall':
      if (version.recalled_at !== null) return { kind: 'decided', version }
      return { kind: 'decided', version: { ...version, recalled_at: new Date(nowMs).toISOString() } }
    case 'restore':
      if (version.artefact === null) return { kind: 'gone' }
      return { kind: 'decided', version: version.recalled_at === null ? version : { ...version, recalled_at: null } }
  }
}
