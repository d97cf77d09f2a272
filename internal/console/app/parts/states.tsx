import type { ComponentChildren } from 'preact'
import { useContext } from 'preact/hooks'
import { linkTo } from '../../figures/address.js'
import { scopeShown } from '../../figures/words.js'
import { useAddress } from '../address/address.js'
import { type ApiProblem, isPassing } from '../api/ask.js'
import { type Answer, IsEarlier } from '../api/use-answer.js'
import { Copies } from './copy.js'

/** What a page says when it has no figures to show, or not all of them. */

interface WhatProps {
  /** In the words of the page, as within a sentence: "the totals". */
  readonly what: string
}

const capitalized = (words: string): string => words.slice(0, 1).toUpperCase() + words.slice(1)

export const Failed = ({
  what,
  problem,
  retry,
  isShown = false,
}: WhatProps & { readonly problem: ApiProblem; readonly retry: () => void; readonly isShown?: boolean }) =>
  problem.code === 'INSUFFICIENT_SCOPE' ? (
    <NotAllowed scope={problem.missing ?? 'another scope'} title={capitalized(what)} />
  ) : problem.code === 'INVALID_FILTER' ? (
    <NoSuchQuestion what={what} problem={problem} />
  ) : (
    <section class="state" role="alert">
      <h2>{capitalized(what)} could not be read</h2>
      <p>{problem.message}</p>
      {isPassing(problem) && <p>The page tries again every few seconds.</p>}
      {isShown && <p>Below is what was read before.</p>}
      <p class="actions">
        <button type="button" onClick={retry}>
          Try again
        </button>
      </p>
      {problem.traceId !== undefined && (
        <p class="muted">
          If you ask for help, quote {problem.code} <Copies text={problem.traceId} />.
        </p>
      )}
    </section>
  )

/** An address that somebody wrote or that is of another tenant: what was asked in the API's words is beside the point. */
function NoSuchQuestion({ what, problem }: WhatProps & { readonly problem: ApiProblem }) {
  const { page, params } = useAddress()
  return (
    <section class="state" role="alert">
      <h2>{capitalized(what)} cannot be read from this address</h2>
      <p>Something in the address of this page is not known here: a filter, an order, or a day.</p>
      <p>
        <a href={linkTo(page, params)}>Begin without it</a>
      </p>
      <details>
        <summary class="muted">What the service says</summary>
        <p>{problem.message}</p>
      </details>
    </section>
  )
}

interface NotAllowedProps {
  readonly scope: string
  readonly title: string
  /** What can be seen instead. */
  readonly children?: ComponentChildren
}

export const NotAllowed = ({ scope, title, children }: NotAllowedProps) => (
  <section class="state">
    <h2>{title}: not with your permissions</h2>
    <p>
      This needs the permission for {scopeShown(scope) ?? 'more'} (<code>{scope}</code>). A person with{' '}
      <code>admin:config</code> can give it to you, under Access.
    </p>
    {children}
  </section>
)

const Slow = ({ what }: WhatProps) => (
  <p class="notice" role="status">
    Still reading {what} … It shows as soon as it is there.
  </p>
)

/** An answer, or what is shown in its place. What was there before stays while it loads again, or could not. */
export function Shown<T>({
  answer,
  what,
  placeholder,
  children,
}: WhatProps & {
  readonly answer: Answer<T>
  /** As high as what comes, so that nothing jumps. */
  readonly placeholder?: ComponentChildren
  readonly children: (value: T) => ComponentChildren
}) {
  const { value, problem, isSlow, isEarlier, reload } = answer
  const isAround = useContext(IsEarlier)
  return (
    <>
      {isSlow && <Slow what={what} />}
      {problem !== undefined && <Failed what={what} problem={problem} retry={reload} isShown={value !== undefined} />}
      {value === undefined ? (
        problem === undefined && placeholder
      ) : (
        <div class="shown" aria-busy={isEarlier}>
          <IsEarlier.Provider value={isAround || isEarlier}>{children(value)}</IsEarlier.Provider>
        </div>
      )}
    </>
  )
}
