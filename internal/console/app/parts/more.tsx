import type { More } from '../api/use-list.js'

/** Reads the next page of a list. */
export const ShowMore = ({ more }: { readonly more: More }) => (
  <>
    {more.isThere && (
      <p>
        <button type="button" disabled={more.isLoading} onClick={more.load}>
          Show more
        </button>
      </p>
    )}
    {more.problem !== '' && <p role="alert">{more.problem}</p>}
  </>
)
