import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export interface Tab {
  id: string;
  label: string;
  /** A number beside the label; 0 shows none. */
  count?: number;
}

interface TabsProps {
  label: string;
  tabs: readonly Tab[];
  current: string;
  onSelect: (id: string) => void;
  children: ComponentChildren;
}

const STEPS: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 };

/** Tabs as the ARIA Authoring Practices describe them: arrows move and select, Tab goes to the panel. */
export function Tabs({ label, tabs, current, onSelect, children }: TabsProps) {
  const list = useRef<HTMLDivElement>(null);
  // On a narrow screen the list of tabs scrolls sideways.
  useEffect(() => {
    const selected = list.current?.querySelector('[aria-selected="true"]');
    selected?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [current]);
  const onKeyDown = (event: KeyboardEvent) => {
    const at = tabs.findIndex(({ id }) => id === current);
    const step = STEPS[event.key];
    const to =
      step !== undefined
        ? (at + step + tabs.length) % tabs.length
        : event.key === 'Home'
          ? 0
          : event.key === 'End'
            ? tabs.length - 1
            : -1;
    const next = tabs[to];
    if (!next) return;
    event.preventDefault();
    onSelect(next.id);
    list.current?.querySelector<HTMLElement>(`#tab-${next.id}`)?.focus();
  };
  return (
    <div class="tabs">
      <div class="tab-list" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
        {tabs.map(({ id, label: words, count = 0 }) => (
          <button
            type="button"
            role="tab"
            key={id}
            id={`tab-${id}`}
            aria-selected={id === current}
            aria-controls="tab-panel"
            tabIndex={id === current ? 0 : -1}
            onClick={() => onSelect(id)}
          >
            {words}
            {count > 0 && <span class="tab-count">{count}</span>}
          </button>
        ))}
      </div>
      <div class="tab-panel" role="tabpanel" id="tab-panel" tabIndex={-1} aria-labelledby={`tab-${current}`}>
        {children}
      </div>
    </div>
  );
}
