import { Fragment } from 'preact'
import { pagesFor } from '../pages/pages.js'
import { Dialog } from '../parts/dialog.js'
import { hasScope } from '../session/session.js'
import type { OverlayProps } from './overlay-props.js'

const keysNow = (): readonly (readonly [key: string, does: string])[] => [
  ['Ctrl K', 'search and do: pages, names, ids, actions (on a Mac: ⌘ K)'],
  ['/', 'to the filter of the page, in which one types'],
  ['v', 'saved views'],
  ...pagesFor(hasScope)
    .slice(0, 9)
    .map(({ title }, at) => [String(at + 1), title] as const),
  ['← →', 'through the bars of a chart that has the focus'],
  ['Esc', 'closes what is open'],
  ['?', 'these keys'],
]

/** What the keyboard does, where the focus is in no field. */
export const Keys = ({ onClose }: OverlayProps) => (
  <Dialog title="Keys" onClose={onClose}>
    <dl class="keys">
      {keysNow().map(([key, does]) => (
        <Fragment key={key}>
          <dt>{key}</dt>
          <dd>{does}</dd>
        </Fragment>
      ))}
    </dl>
  </Dialog>
)
