import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { linkTo } from '../../figures/address.js'
import { followLink, useAddress } from '../address/address.js'
import { viewerZone } from '../address/zone.js'
import { ApiProblem } from '../api/ask.js'
import type { PageProps } from '../pages/page-props.js'
import { PAGES, type Page } from '../pages/pages.js'
import { Failed } from '../parts/states.js'
import { StepUp } from '../parts/step-up.js'
import { Patterns } from '../parts/trust-bar.js'
import { beginSession, type Change, hasScope, onChange } from '../session/session.js'
import { SignInRefused } from '../session/tokens.js'
import { ClosedPage } from './closed-page.js'
import { Header } from './header.js'
import { Notices } from './notices.js'
import { OpenOverlay } from './overlays.js'
import { useShortcuts } from './shortcuts.js'
import { SignIn, SomebodyElse } from './sign-in.js'

type Phase =
  | { readonly kind: 'beginning'; readonly isRepeated?: true }
  | { readonly kind: 'signed in' }
  | { readonly kind: 'signed out'; readonly reason: string; readonly isByChoice: boolean }
  | Extract<Change, { readonly kind: 'somebody else' }>
  | { readonly kind: 'answered elsewhere' }

const AGAIN_MS = 2_000

/** The whole console: the sign-in page, or the menu with the page that the address names. */
export function Console() {
  const [phase, setPhase] = useState<Phase>({ kind: 'beginning' })
  useEffect(() => {
    const begin = (): void => {
      beginSession().then(
        (outcome) => {
          if (outcome === undefined) setPhase({ kind: 'signed in' })
          else if (outcome === 'callback elsewhere') {
            setPhase({ kind: 'answered elsewhere' })
            close()
            // One that no script opened stays: it goes on by the cookie, and nobody is told that they are signed in.
            setTimeout(begin, AGAIN_MS)
          } else setPhase({ kind: 'signed out', reason: '', isByChoice: false })
        },
        (cause: unknown) => {
          if (cause instanceof SignInRefused) {
            setPhase({ kind: 'signed out', reason: cause.message, isByChoice: true })
            return
          }
          // The session may still be there: nobody has to sign in because of an outage.
          setPhase({ kind: 'beginning', isRepeated: true })
          setTimeout(begin, AGAIN_MS)
        },
      )
    }
    begin()
    return onChange((change) => {
      if (change.kind === 'signed in') begin()
      else setPhase(change.kind === 'signed out' ? { ...change, isByChoice: true } : change)
    })
  }, [])

  switch (phase.kind) {
    case 'beginning':
      return (
        <p class="waiting" role="status">
          {phase.isRepeated === true ? 'The service does not answer; trying again …' : 'Signing in …'}
        </p>
      )
    case 'answered elsewhere':
      return <p class="waiting">Your sign-in was passed on. Close this window.</p>
    case 'somebody else':
      return <SomebodyElse username={phase.username} />
    case 'signed out':
      return <SignIn reason={phase.reason} goesOn={!phase.isByChoice} />
    case 'signed in':
      return <Pages />
  }
}

function Pages() {
  const { page: path, params } = useAddress()
  const zone = viewerZone(params)
  const page = PAGES.find((each) => each.path === path)
  const { overlay, setOverlay } = useShortcuts()
  useEffect(() => {
    document.title = `${page?.title ?? 'No such page'} – Attribution`
  }, [page])

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: handles clicks that bubble from links, which have keyboards.
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above.
    <div class="console" onClick={followLink}>
      <a class="skip" href="#main">
        Skip to the figures
      </a>
      <Patterns />
      <Header page={path} params={params} zone={zone} onOpen={setOverlay} />
      <Notices zone={zone} />
      <main id="main" tabIndex={-1}>
        {page !== undefined && <h1 class="hidden">{page.title}</h1>}
        {page === undefined ? (
          <NoSuchPage params={params} />
        ) : hasScope(page.scope) ? (
          <Loaded key={page.path} page={page} params={params} zone={zone} />
        ) : (
          <ClosedPage page={page} params={params} />
        )}
      </main>
      {overlay !== undefined && (
        <OpenOverlay
          key={overlay}
          overlay={overlay}
          page={path}
          params={params}
          onClose={() => setOverlay(undefined)}
          onOpen={setOverlay}
        />
      )}
      <StepUp />
    </div>
  )
}

/** A page whose script may still be on its way. */
function Loaded({ page, ...props }: PageProps & { readonly page: Page }) {
  const [Shown, setShown] = useState<ComponentType<PageProps> | undefined>()
  const [isBroken, setBroken] = useState(false)
  useEffect(() => {
    page.load().then(
      (loaded) => setShown(() => loaded.Page),
      () => setBroken(true),
    )
  }, [page])
  if (isBroken) {
    const problem = new ApiProblem(0, 'NO_ANSWER', 'The page could not be loaded.')
    return <Failed what={page.title} problem={problem} retry={() => location.reload()} />
  }
  return Shown === undefined ? null : <Shown {...props} />
}

const NoSuchPage = ({ params }: { readonly params: URLSearchParams }) => (
  <section class="state">
    <h1>No such page</h1>
    <p>
      <a href={linkTo('', params)}>Go to the overview</a>
    </p>
  </section>
)
