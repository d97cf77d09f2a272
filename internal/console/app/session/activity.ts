/** When a person last did something in this tab. What the page reads by itself is nothing that they did. */
let activeAtMs = Date.now()

for (const input of ['pointerdown', 'keydown', 'wheel']) {
  addEventListener(input, () => (activeAtMs = Date.now()), { capture: true, passive: true })
}

/** For how long nobody has used this tab. */
export const idleS = (): number => Math.max(0, Math.floor((Date.now() - activeAtMs) / 1_000))
