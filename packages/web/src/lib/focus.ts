/** Calls `run` after the next layout, which is in the second frame from now. @returns a function that cancels it */
export function afterLayout(run: () => void): () => void {
  let frame = requestAnimationFrame(() => {
    frame = requestAnimationFrame(run);
  });
  return () => cancelAnimationFrame(frame);
}

/**
 * Calls `run` after a state change has been rendered. Preact renders in a microtask, so this is before the
 * next key press, whose effect may depend on the focus.
 */
export const afterRender = (run: () => void): void => queueMicrotask(run);

/**
 * Call after a change that may remove the focused element: moves the focus to the heading, so that keyboard
 * users do not lose it.
 */
export function keepFocus(): void {
  afterLayout(() => {
    if (document.activeElement !== document.body) return;
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
  });
}
