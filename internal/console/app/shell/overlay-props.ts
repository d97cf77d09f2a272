/** The dialogs that open over any page. */
export type Overlay = 'keys' | 'palette' | 'views'

/** What each gets. */
export interface OverlayProps {
  /** Of the page beneath. */
  readonly page: string
  readonly params: URLSearchParams
  /** What the person typed before it was there. */
  readonly typed: string
  readonly onClose: () => void
  /** Opens another one in its place. */
  readonly onOpen: (overlay: Overlay) => void
}
