import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Dialog } from '../parts/dialog.js'
import type { Overlay, OverlayProps } from './overlay-props.js'

/** Each is loaded when it is opened first. */
const OVERLAYS: Readonly<Record<Overlay, () => Promise<ComponentType<OverlayProps>>>> = {
  keys: async () => (await import('./keys.js')).Keys,
  palette: async () => (await import('./palette.js')).Palette,
  views: async () => (await import('./saved-views.js')).SavedViews,
}

export function OpenOverlay({ overlay, ...props }: OverlayProps & { readonly overlay: Overlay }) {
  const [Shown, setShown] = useState<ComponentType<OverlayProps> | undefined>()
  const [isBroken, setBroken] = useState(false)
  useEffect(() => {
    OVERLAYS[overlay]().then(
      (loaded) => setShown(() => loaded),
      () => setBroken(true),
    )
  }, [overlay])
  if (isBroken) {
    return (
      <Dialog title="This could not be loaded" onClose={props.onClose}>
        <p>The service does not answer. Check your network, and try again.</p>
      </Dialog>
    )
  }
  return Shown === undefined ? null : <Shown {...props} />
}
