import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { afterLayout, afterRender } from '../lib/focus.ts';
import { formerRow } from '../lib/router.ts';

interface WindowListProps<T extends { id: string }> {
  items: readonly T[];
  label: string;
  /** A row is made anew for another item or another function only. */
  render: (item: T) => ComponentChildren;
  /** Called near the end of the list. */
  onEnd?: () => void;
  /** Called with true while the first row can be seen. */
  onTop?: (isAtTop: boolean) => void;
}

/** Rows above and below what can be seen, so that scrolling meets no empty place. */
const MARGIN = 8;

/** The height of every row in CSS pixels: the property `--row`, which depends on the width of the list. */
const rowHeightOf = (box: Element): number =>
  Number.parseFloat(getComputedStyle(box).getPropertyValue('--row')) || 76;

/**
 * A list of which only the rows that can be seen exist. Rows that come in above what one reads do not move it.
 */
export function WindowList<T extends { id: string }>(props: WindowListProps<T>) {
  const { items, label, render, onEnd, onTop } = props;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [{ height, row }, setSize] = useState({ height: 800, row: 76 });
  const anchor = useRef<string | undefined>(undefined);
  const made = useMemo(() => new WeakMap<T, ComponentChildren>(), [render]);
  const rowOf = (item: T) => {
    if (!made.has(item)) made.set(item, render(item));
    return made.get(item);
  };

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setSize({ height: element.clientHeight, row: rowHeightOf(element) });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const first = Math.max(0, Math.floor(top / row) - MARGIN);
  const last = Math.min(items.length, Math.ceil((top + height) / row) + MARGIN);

  useLayoutEffect(() => {
    const element = box.current;
    const id = anchor.current;
    if (element && id !== undefined && element.scrollTop > 0 && items[Math.floor(top / row)]?.id !== id) {
      const at = items.findIndex((item) => item.id === id);
      if (at >= 0) element.scrollTop = at * row + (top % row);
    }
    anchor.current = items[Math.floor((element?.scrollTop ?? 0) / row)]?.id;
  }, [items, row]);

  useEffect(() => {
    if (last >= items.length - MARGIN) onEnd?.();
  }, [last, items.length]);

  // Back in the list, one is at the row from which one left; it may be on an older page.
  const wanted = useRef(formerRow());
  useEffect(() => {
    const id = wanted.current;
    if (id === undefined) return;
    const at = items.findIndex((item) => item.id === id);
    // Ids are in the order of the list: an older one is on a later page, any other one is gone.
    if (at < 0 && id < (items.at(-1)?.id ?? '')) return onEnd?.();
    wanted.current = undefined;
    if (at < 0) return;
    return afterLayout(() => focusRow(box.current?.parentElement ?? null, at));
  }, [items]);

  const onScroll = () => {
    const at = box.current?.scrollTop ?? 0;
    anchor.current = items[Math.floor(at / row)]?.id;
    setTop(at);
    onTop?.(at < row / 2);
  };

  return (
    <div class="window" ref={box} onScroll={onScroll}>
      <ul aria-label={label} style={{ height: `${items.length * row}px` }}>
        {items.slice(first, last).map((item, index) => (
          <li
            key={item.id}
            data-id={item.id}
            aria-setsize={items.length}
            aria-posinset={first + index + 1}
            style={{ top: `${(first + index) * row}px`, height: `${row}px` }}
          >
            {rowOf(item)}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The index of the row that has the focus; -1 for none. */
export const focusedRow = (): number =>
  Number(document.activeElement?.closest('.window li')?.getAttribute('aria-posinset') ?? 0) - 1;

/**
 * Keys that move the focus between the rows of a list.
 * @param box contains it
 * @param loadAll loads what is not in the list yet, and returns how many there are then
 */
export function rowKeys(
  box: RefObject<Element | null>,
  count: number,
  loadAll?: () => Promise<number>,
): Record<string, () => void> {
  const scroller = () => box.current?.querySelector('.window') ?? null;
  const go = (to: number) => focusRow(box.current, Math.min(count - 1, Math.max(0, to)));
  const move = (by: number) => {
    const at = focusedRow();
    const list = scroller();
    if (at >= 0 || !list) return go(at + by);
    // A row that was scrolled out of sight has lost the focus: go on from what is seen.
    const first = Math.ceil(list.scrollTop / rowHeightOf(list));
    go(by > 0 ? first : first - 1);
  };
  const page = (by: number) => {
    const list = scroller();
    if (list) move(by * Math.max(1, Math.floor(list.clientHeight / rowHeightOf(list)) - 1));
  };
  return {
    j: () => move(1),
    k: () => move(-1),
    Home: () => go(0),
    End: () => {
      go(count - 1);
      loadAll?.().then(
        (all) => all > count && afterLayout(() => focusRow(box.current, all - 1)),
        () => undefined,
      );
    },
    PageDown: () => page(1),
    PageUp: () => page(-1),
  };
}

/** Scrolls so far that a row is seen. @returns the list */
function scrollToRow(box: Element | null, index: number): Element | null {
  const scroller = box?.querySelector('.window') ?? null;
  if (!scroller || index < 0) return null;
  const row = rowHeightOf(scroller);
  const top = index * row;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top + row > scroller.scrollTop + scroller.clientHeight) {
    scroller.scrollTop = top + row - scroller.clientHeight;
  }
  return scroller;
}

/** Moves the focus to the row of an item, which may have to be scrolled to. */
export function focusRow(box: Element | null, index: number): void {
  const scroller = scrollToRow(box, index);
  const focus = () => {
    const link = scroller?.querySelector<HTMLElement>(`[aria-posinset="${index + 1}"] a`);
    link?.focus({ preventScroll: true });
    return link !== null;
  };
  if (!scroller || focus()) return;
  // A row that was far away exists when the list has been rendered again; its own event of the scrolling comes late.
  scroller.dispatchEvent(new Event('scroll'));
  afterRender(() => focus() || afterLayout(focus));
}

/** Keeps the row that has the focus in sight when the list changes its width, or else this one. */
export function keepRow(box: RefObject<Element | null>, index: number): () => void {
  return afterLayout(() => scrollToRow(box.current, focusedRow() < 0 ? index : focusedRow()));
}
