import type { ComponentChildren } from 'preact'
import type { Period } from '../../../figures/period.js'
import { callsShown, usdShown } from '../../../figures/shown.js'
import { Field } from '../../parts/field.js'
import type { Item, Service } from './load.js'

/** What the ways to deal with an item of the queue have in common. */

export interface DetailProps {
  readonly item: Item
  readonly services: readonly Service[]
  readonly zone: string
  readonly period: Period
  /** All calls of the period. */
  readonly ofCalls: number
  /** Called as calls move, and when all have: then the queue is read again. */
  readonly onMoving: (isOver: boolean) => void
}

export type Of<K extends Item['kind']> = Omit<DetailProps, 'item'> & { readonly item: Extract<Item, { kind: K }> }

export const Amount = ({ item, children }: { readonly item: Item; readonly children: ComponentChildren }) => (
  <p>
    <span class="strong">{callsShown(item.calls)}</span>, <span class="strong">USD {usdShown(item.cost)}</span>:{' '}
    {children}
  </p>
)

/** The names to choose from, for inputs with `list="known-services"` and `list="known-owners"`. */
export const Known = ({ services }: { readonly services: readonly Service[] }) => (
  <>
    <datalist id="known-services">
      {services.map(({ id, name }) => (
        <option key={id} value={name} />
      ))}
    </datalist>
    <datalist id="known-owners">
      {[...new Set(services.map(({ owner }) => owner))].map((owner) => (
        <option key={owner} value={owner} />
      ))}
    </datalist>
  </>
)

interface OwnerFieldProps {
  readonly label: string
  readonly defaultValue?: string | undefined
}

/** The team that a service or a pool belongs to. */
export const OwnerField = ({ label, defaultValue }: OwnerFieldProps) => (
  <Field label={label} name="owner" required placeholder="team-…" list="known-owners" defaultValue={defaultValue} />
)
