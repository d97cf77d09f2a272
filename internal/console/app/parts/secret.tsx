import { Copy } from './copy.js'
import { Dialog } from './dialog.js'

interface SecretProps {
  readonly title: string
  readonly secret: string
  /** Where it goes. */
  readonly about: string
  /** Forgets it. */
  readonly onClose: () => void
}

/** A secret that the service shows only once: in memory while this dialog is open, and nowhere else. */
export const Secret = ({ title, secret, about, onClose }: SecretProps) => (
  <Dialog title={title} onClose={onClose}>
    <p>{about}</p>
    <pre class="block secret">{secret}</pre>
    <p>It is shown only once: close this dialog, and it is gone.</p>
    <p class="actions">
      <Copy text={secret} />
      <button type="button" class="primary" onClick={onClose}>
        I have it
      </button>
    </p>
  </Dialog>
)
