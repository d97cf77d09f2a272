import type { ComponentType } from 'preact'
import type { PageProps } from './page-props.js'

export interface Page {
  /** The last segment of its address; empty: the first page. */
  readonly path: string
  readonly title: string
  /** Without it, the page says who can give it. */
  readonly scope: string
  /** Loaded when the page is opened first. */
  readonly load: () => Promise<{ readonly Page: ComponentType<PageProps> }>
}

/** The pages, in the order of the menu. To add one: a folder whose `page.tsx` exports `Page`, and a line here. */
export const PAGES: readonly Page[] = [
  { path: '', title: 'Overview', scope: 'read:reporting', load: () => import('./overview/page.js') },
  { path: 'explorer', title: 'Explorer', scope: 'read:attribution', load: () => import('./explorer/page.js') },
  {
    path: 'unattributed',
    title: 'Unattributed',
    scope: 'read:reporting',
    load: () => import('./unattributed/page.js'),
  },
  { path: 'budgets', title: 'Budgets', scope: 'admin:config', load: () => import('./budgets/page.js') },
  { path: 'exports', title: 'Exports', scope: 'export:create', load: () => import('./exports/page.js') },
  { path: 'webhooks', title: 'Webhooks', scope: 'webhooks:manage', load: () => import('./webhooks/page.js') },
  { path: 'coverage', title: 'Coverage', scope: 'read:attribution', load: () => import('./coverage/page.js') },
  { path: 'models', title: 'Models', scope: 'read:attribution', load: () => import('./models/page.js') },
  { path: 'sources', title: 'Sources', scope: 'read:attribution', load: () => import('./sources/page.js') },
  { path: 'anomalies', title: 'Anomalies', scope: 'read:reporting', load: () => import('./anomalies/page.js') },
  { path: 'schedules', title: 'Export schedules', scope: 'export:create', load: () => import('./schedules/page.js') },
  { path: 'directory', title: 'Directory', scope: 'admin:config', load: () => import('./directory/page.js') },
  { path: 'pools', title: 'Pools', scope: 'admin:config', load: () => import('./pools/page.js') },
  { path: 'prices', title: 'Prices', scope: 'admin:config', load: () => import('./prices/page.js') },
  { path: 'access', title: 'Access', scope: 'admin:config', load: () => import('./access/page.js') },
  { path: 'settings', title: 'Settings', scope: 'admin:config', load: () => import('./settings/page.js') },
  { path: 'audit', title: 'Audit log', scope: 'admin:config', load: () => import('./audit/page.js') },
]

/** Those that a person may open. */
export const pagesFor = (hasScope: (scope: string) => boolean): readonly Page[] =>
  PAGES.filter(({ scope }) => hasScope(scope))
