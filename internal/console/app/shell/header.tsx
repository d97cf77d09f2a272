import { useState } from 'preact/hooks'
import { linkTo } from '../../figures/address.js'
import { DEFAULT_PERIOD, daysOf, PRESETS, periodOf } from '../../figures/period.js'
import { setParams } from '../address/address.js'
import { PAGES } from '../pages/pages.js'
import { Person } from './person.js'
import { applyTheme, chosenTheme, nextTheme } from './theme.js'
import { zoneChoices } from './zone.js'

interface HeaderProps {
  readonly page: string
  readonly params: URLSearchParams
  readonly zone: string
  readonly onHelp: () => void
}

/** The menu of pages, and what holds on all of them: period, time zone, theme, person. */
export function Header({ page, params, zone, onHelp }: HeaderProps) {
  return (
    <header class="top">
      <nav aria-label="Pages">
        <a class="brand" href={linkTo('', params)}>
          Attribution
        </a>
        {PAGES.map(({ path, title }) => (
          <a key={path} href={linkTo(path, params)} aria-current={path === page ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <div class="tools">
        <PeriodPicker params={params} zone={zone} />
        <label class="bare">
          <span class="hidden">Time zone</span>
          <select value={zone} onChange={({ currentTarget }) => setParams({ zone: currentTarget.value })}>
            {zoneChoices(zone).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <ThemeButton />
        <button type="button" class="quiet" onClick={onHelp} title="Keyboard shortcuts (?)" aria-label="Help">
          ?
        </button>
        <Person />
      </div>
    </header>
  )
}

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
        <span class="muted">{period.label}</span>
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
