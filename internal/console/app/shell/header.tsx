import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { linkTo } from '../../figures/address.js'
import { DEFAULT_PERIOD, daysOf, PRESETS, periodOf } from '../../figures/period.js'
import { scopeShown } from '../../figures/words.js'
import { setParams } from '../address/address.js'
import { zoneChoices } from '../address/zone.js'
import { type Page, pagesFor } from '../pages/pages.js'
import { Menu, MenuTitle } from '../parts/menu.js'
import { useMatches } from '../parts/use-matches.js'
import { currentTokens, hasScope, signOut } from '../session/session.js'
import type { Overlay } from './overlay-props.js'
import { applyTheme, chosenTheme, nextTheme } from './theme.js'

interface HeaderProps {
  readonly page: string
  readonly params: URLSearchParams
  readonly zone: string
  readonly onOpen: (overlay: Overlay) => void
}

/** From these widths on, some or more of the first pages are beside each other. */
const WIDE = '(min-width: 80rem)'
const WIDEST = '(min-width: 108rem)'
/** Up to this width, what is rarely changed is in the menu of the person. */
const NARROW = '(max-width: 48rem)'
const IN_ROW = 5
const IN_WIDEST_ROW = 7

/** The menu of pages, and what holds on all of them: period, time zone, theme, person. One row. */
export function Header({ page, params, zone, onOpen }: HeaderProps) {
  const isNarrow = useMatches(NARROW)
  const settings = (
    <>
      <ZonePicker zone={zone} />
      <ThemeButton />
      <button type="button" class="quiet" onClick={() => onOpen('views')} title="Saved views (v)">
        Views
      </button>
      <button type="button" class="quiet" onClick={() => onOpen('palette')} title="Search and do (Ctrl K)">
        Search
      </button>
      <button type="button" class="quiet" onClick={() => onOpen('keys')} title="Keys (?)" aria-label="Keys">
        ?
      </button>
    </>
  )
  return (
    <header class="top">
      <Navigation page={page} params={params} />
      <div class="tools">
        <PeriodPicker params={params} zone={zone} />
        {!isNarrow && settings}
        <Person>{isNarrow && <div class="settings">{settings}</div>}</Person>
      </div>
    </header>
  )
}

function Navigation({ page, params }: Pick<HeaderProps, 'page' | 'params'>) {
  const [isWide, isWidest] = [useMatches(WIDE), useMatches(WIDEST)]
  const pages = pagesFor(hasScope)
  const inRow = isWide ? pages.slice(0, isWidest ? IN_WIDEST_ROW : IN_ROW) : []
  const inMenu = pages.slice(inRow.length)
  const link = ({ path, title }: Page) => (
    <a key={path} href={linkTo(path, params)} aria-current={path === page ? 'page' : undefined}>
      {title}
    </a>
  )
  const shown = inMenu.find(({ path }) => path === page)?.title
  return (
    <nav aria-label="Pages">
      <a class="brand" href={linkTo('', params)}>
        Attribution
      </a>
      {inRow.map(link)}
      {inMenu.length > 0 && (
        <Menu
          label={`${isWide ? 'More' : 'All'} pages`}
          summary={<MenuTitle>{shown ?? 'More'}</MenuTitle>}
          isCurrent={shown !== undefined}
        >
          <div class="pages">{inMenu.map(link)}</div>
        </Menu>
      )}
    </nav>
  )
}

const ZonePicker = ({ zone }: { readonly zone: string }) => (
  <label class="bare">
    <span class="hidden">Time zone</span>
    <select value={zone} onChange={({ currentTarget }) => setParams({ zone: currentTarget.value })}>
      {zoneChoices(zone).map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  </label>
)

function PeriodPicker({ params, zone }: Pick<HeaderProps, 'params' | 'zone'>) {
  const stated = params.get('period') ?? DEFAULT_PERIOD
  const [isOwn, setOwn] = useState(false)
  const isDays = daysOf(stated) !== undefined
  const period = periodOf(stated, zone, Date.now())
  const day = (ms: number): string => new Intl.DateTimeFormat('en-CA', { timeZone: zone }).format(ms)
  const [first, last] = [day(period.fromMs), day(period.toMs - 1)]
  const setDays = (from: string, to: string): void => {
    if (daysOf(`${from}..${to}`) !== undefined) setParams({ period: `${from}..${to}` })
  }
  const choose = (chosen: string): void => {
    setOwn(chosen === 'days')
    if (chosen !== 'days') setParams({ period: chosen === DEFAULT_PERIOD ? '' : chosen })
    else setDays(first, last)
  }
  return (
    <span class="period">
      <label class="bare">
        <span class="hidden">Period</span>
        <select value={isDays ? 'days' : stated} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          {Object.entries(PRESETS).map(([key, title]) => (
            <option key={key} value={key}>
              {title}
            </option>
          ))}
          <option value="days">From – to …</option>
        </select>
      </label>
      {isDays || isOwn ? (
        <>
          <input
            type="date"
            aria-label="First day"
            value={first}
            onChange={({ currentTarget }) => setDays(currentTarget.value, last)}
          />
          <input
            type="date"
            aria-label="Last day"
            value={last}
            onChange={({ currentTarget }) => setDays(first, currentTarget.value)}
          />
        </>
      ) : (
        <span class="muted days">{period.label}</span>
      )}
    </span>
  )
}

const THEMES = { system: '◐', light: '○', dark: '●' } as const

function ThemeButton() {
  const [theme, setTheme] = useState(chosenTheme)
  const turn = (): void => {
    const next = nextTheme(theme)
    applyTheme(next)
    setTheme(next)
  }
  return (
    <button type="button" class="quiet" onClick={turn} title={`Theme: ${theme}`} aria-label={`Theme: ${theme}`}>
      {THEMES[theme]}
    </button>
  )
}

/** Who is signed in, what is set for them, and the way out. */
function Person({ children }: { readonly children: ComponentChildren }) {
  const tokens = currentTokens()
  return (
    <Menu summary={<MenuTitle>{tokens?.username ?? ''}</MenuTitle>}>
      {children}
      <p>{tokens?.tenantName}</p>
      <p class="muted">May see or change:</p>
      <ul class="may">
        {tokens?.scopes.map((scope) => (
          <li key={scope} title={scope}>
            {scopeShown(scope) ?? scope}
          </li>
        ))}
      </ul>
      <button type="button" onClick={() => void signOut()}>
        Sign out
      </button>
    </Menu>
  )
}
