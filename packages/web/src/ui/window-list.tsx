import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface WindowListProps<T extends { id: string }> {
  items: readonly T[];
  /** Height of every row in CSS pixels. */
  rowHeight: number;
  label: string;
  render: (item: T) => ComponentChildren;
  /** Called near the end of the list. */
  onEnd?: () => void;
  /** Called with true while the first row can be seen. */
  onTop?: (isAtTop: boolean) => void;
}

/** Rows above and below what can be seen, so that scrolling meets no empty place. */
const MARGIN = 8;

/**
 * A list of which only the rows that can be seen exist. Rows that come in above what one reads do not move it.
 */
export function WindowList<T extends { id: string }>(props: WindowListProps<T>) {
  const { items, rowHeight, label, render, onEnd, onTop } = props;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(800);
  const anchor = useRef<string | undefined>(undefined);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const first = Math.max(0, Math.floor(top / rowHeight) - MARGIN);
  const last = Math.min(items.length, Math.ceil((top + height) / rowHeight) + MARGIN);

  useLayoutEffect(() => {
    const element = box.current;
    const id = anchor.current;
    if (
      element &&
      id !== undefined &&
      element.scrollTop > 0 &&
      items[Math.floor(top / rowHeight)]?.id !== id
    ) {
      const at = items.findIndex((item) => item.id === id);
      if (at >= 0) element.scrollTop = at * rowHeight + (top % rowHeight);
    }
    anchor.current = items[Math.floor((element?.scrollTop ?? 0) / rowHeight)]?.id;
  }, [items]);

  useEffect(() => {
    if (last >= items.length - MARGIN) onEnd?.();
  }, [last, items.length]);

  const onScroll = () => {
    const at = box.current?.scrollTop ?? 0;
    anchor.current = items[Math.floor(at / rowHeight)]?.id;
    setTop(at);
    onTop?.(at < rowHeight / 2);
  };

  return (
    <div class="window" ref={box} onScroll={onScroll}>
      <ul aria-label={label} style={{ height: `${items.length * rowHeight}px` }}>
        {items.slice(first, last).map((item, index) => (
          <li
            key={item.id}
            aria-setsize={items.length}
            aria-posinset={first + index + 1}
            style={{ top: `${(first + index) * rowHeight}px`, height: `${rowHeight}px` }}
          >
            {render(item)}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Moves the focus to the row of an item, which may have to be scrolled to. */
export function focusRow(box: Element | null, index: number, rowHeight: number): void {
  const scroller = box?.querySelector('.window');
  if (!scroller) return;
  const top = index * rowHeight;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top + rowHeight > scroller.scrollTop + scroller.clientHeight) {
    scroller.scrollTop = top + rowHeight - scroller.clientHeight;
  }
  const focus = () => {
    const row = scroller.querySelector<HTMLElement>(`[aria-posinset="${index + 1}"] a`);
    row?.focus({ preventScroll: true });
    return row !== null;
  };
  // A row that was far away exists when the list has been rendered again.
  if (!focus()) requestAnimationFrame(() => requestAnimationFrame(focus));
}
