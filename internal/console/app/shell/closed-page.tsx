import { useEffect } from 'preact/hooks'
import { linkTo } from '../../figures/address.js'
import { goTo } from '../address/address.js'
import { type Page, pagesFor } from '../pages/pages.js'
import { NotAllowed } from '../parts/states.js'
import { hasScope } from '../session/session.js'

interface ClosedPageProps {
  readonly page: Page
  readonly params: URLSearchParams
}

/** A page that the person may not see: what it takes, and those that they may. From the first page they go to one. */
export function ClosedPage({ page, params }: ClosedPageProps) {
  const pages = pagesFor(hasScope)
  const [first] = pages
  const landing = page.path === '' && first !== undefined ? linkTo(first.path, params) : undefined
  useEffect(() => {
    if (landing !== undefined) goTo(landing, 'replace')
  }, [landing])
  if (landing !== undefined) return null
  return (
    <NotAllowed scope={page.scope} title={page.title}>
      {pages.length > 0 && (
        <p>
          Open to you:{' '}
          {pages.map(({ path, title }, at) => (
            <span key={path}>
              {at > 0 && ', '}
              <a href={linkTo(path, params)}>{title}</a>
            </span>
          ))}
          .
        </p>
      )}
    </NotAllowed>
  )
}
