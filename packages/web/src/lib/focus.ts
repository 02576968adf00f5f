/** Calls `run` when a change has been rendered and laid out: the second frame from now. @returns what cancels it */
export function afterLayout(run: () => void): () => void {
  let frame = requestAnimationFrame(() => {
    frame = requestAnimationFrame(run);
  });
  return () => cancelAnimationFrame(frame);
}

/**
 * Calls `run` when a change of state has been rendered, which Preact does in a microtask: before the next key, whose
 * effect may depend on what has the focus.
 */
export const afterRender = (run: () => void): void => queueMicrotask(run);

/** After a change that may remove what has the focus: then the heading gets it, and the keyboard is not lost. */
export function keepFocus(): void {
  afterLayout(() => {
    if (document.activeElement !== document.body) return;
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
  });
}
