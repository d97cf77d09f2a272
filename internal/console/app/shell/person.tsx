import { ask } from '../api/ask.js'
import { useAnswer } from '../api/use-answer.js'
import { currentTokens, hasScope, signOut } from '../session/session.js'

/** Who is signed in, and the way out. */
export function Person() {
  const userId = currentTokens()?.userId ?? ''
  // Only who may read people learns their own name.
  const named = useAnswer(hasScope('admin:config') ? userId : '', (signal) =>
    ask<{ readonly username: string }>(`/api/v1/users/${userId}`, { signal }),
  )
  return (
    <details class="menu">
      <summary>{named.value?.username ?? 'signed in'}</summary>
      <div class="popover">
        <p class="muted">{userId}</p>
        <p>{currentTokens()?.scopes.join(', ')}</p>
        <button type="button" onClick={() => void signOut()}>
          Sign out
        </button>
      </div>
    </details>
  )
}
