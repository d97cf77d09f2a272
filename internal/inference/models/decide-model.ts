import { promoted, type StoredModel, servingOf } from './model-version.js'

/** The decisions that an admin can make about a version. */
export const DECISIONS = ['promote', 'recall', 'restore'] as const
export type Decision = (typeof DECISIONS)[number]

export type Decided =
  | { readonly kind: 'decided'; readonly version: StoredModel }
  /** The artefact of the version was removed because of its age. */
  | { readonly kind: 'no_artefact' }

/**
 * Applies a decision to a version. Idempotent: returns the same version when the decision already holds.
 *
 * An admin can promote a version that has not passed validation: it then serves below the chargeback floor.
 *
 * @param versions all versions of the tenant, including this one
 */
export function decided(
  version: StoredModel,
  decision: Decision,
  versions: Iterable<StoredModel>,
  nowMs: number,
): Decided {
  switch (decision) {
    case 'promote': {
      if (version.artefact === null) return { kind: 'no_artefact' }
      const all = [...versions]
      const { model, state } = servingOf(all, true, () => false)
      // A fallback for a recalled version is promoted again, so that it no longer counts as a fallback.
      if (model?.id === version.id && state === 'none') return { kind: 'decided', version }
      return { kind: 'decided', version: promoted(version, all, nowMs) }
    }
    case 'recall':
      if (version.recalled_at !== null) return { kind: 'decided', version }
      return { kind: 'decided', version: { ...version, recalled_at: new Date(nowMs).toISOString() } }
    case 'restore':
      if (version.artefact === null) return { kind: 'no_artefact' }
      return { kind: 'decided', version: version.recalled_at === null ? version : { ...version, recalled_at: null } }
  }
}
