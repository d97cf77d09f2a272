/** What every page gets. */
export interface PageProps {
  readonly params: URLSearchParams
  /** Of the viewer, in the tz database's words. */
  readonly zone: string
}
