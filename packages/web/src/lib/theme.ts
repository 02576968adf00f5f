import { effect, signal } from '@preact/signals';

export type Theme = 'auto' | 'light' | 'dark';
const NAME = 'mayfly theme';
const stored = localStorage.getItem(NAME);

/** The theme setting. Only this and the notification setting are stored in the browser. */
export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'auto');

effect(() => {
  if (theme.value === 'auto') {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem(NAME);
  } else {
    document.documentElement.dataset.theme = theme.value;
    localStorage.setItem(NAME, theme.value);
  }
});

export function nextTheme(): void {
  const order: Theme[] = ['auto', 'light', 'dark'];
  theme.value = order[(order.indexOf(theme.value) + 1) % order.length] ?? 'auto';
}
