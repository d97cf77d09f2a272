import type { ComponentType } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { Dialog } from '../parts/dialog.js'
import type { Overlay, OverlayProps } from './overlay-props.js'

/** Each is loaded when it is opened first. */
const OVERLAYS: Readonly<Record<Overlay, () => Promise<ComponentType<OverlayProps>>>> = {
  keys: async () => (await import('./keys.js')).Keys,
  palette: async () => (await import('./palette.js')).Palette,
  views: async () => (await import('./saved-views.js')).SavedViews,
}

export function OpenOverlay({ overlay, ...props }: Omit<OverlayProps, 'typed'> & { readonly overlay: Overlay }) {
  const [Shown, setShown] = useState<ComponentType<OverlayProps> | undefined>()
  const [isBroken, setBroken] = useState(false)
  const typed = useTyped(Shown === undefined && !isBroken)
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
  return Shown === undefined ? null : <Shown {...props} typed={typed} />
}

/** What is typed while a dialog is on its way is for it: the page beneath would take it for its own keys. */
function useTyped(isLoading: boolean): string {
  const [typed, setTyped] = useState('')
  useLayoutEffect(() => {
    if (!isLoading) return
    const pressed = (event: KeyboardEvent): void => {
      if (event.key.length > 1 || event.ctrlKey || event.metaKey || event.altKey) return
      event.stopPropagation()
      event.preventDefault()
      setTyped((before) => before + event.key)
    }
    addEventListener('keydown', pressed, true)
    return () => removeEventListener('keydown', pressed, true)
  }, [isLoading])
  return typed
}
