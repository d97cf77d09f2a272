/** Light or dark, as the system says unless the person has chosen. */

const KEY = 'attribution.theme'
const CHOICES = ['system', 'light', 'dark'] as const
export type Theme = (typeof CHOICES)[number]

export const chosenTheme = (): Theme => CHOICES.find((choice) => choice === localStorage.getItem(KEY)) ?? 'system'

export const nextTheme = (theme: Theme): Theme => CHOICES[(CHOICES.indexOf(theme) + 1) % CHOICES.length] ?? 'system'

export function applyTheme(theme: Theme = chosenTheme()): void {
  if (theme === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, theme)
  document.documentElement.style.colorScheme = theme === 'system' ? 'light dark' : theme
}
