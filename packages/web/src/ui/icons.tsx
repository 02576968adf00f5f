/** Line drawings on a 16 by 16 grid; they decorate words and are hidden from screen readers. */
const PATHS = {
  inbox: 'M2 9.5h3.5l1 2h3l1-2H14M2 9.5 4 3h8l2 6.5V13H2z',
  live: 'M3.5 12.5a6.4 6.4 0 0 1 0-9M12.5 3.5a6.4 6.4 0 0 1 0 9M5.6 10.4a3.4 3.4 0 0 1 0-4.8M10.4 5.6a3.4 3.4 0 0 1 0 4.8M8 8v.01',
  plug: 'M5.5 2v3M10.5 2v3M3.5 5h9v2.5a4.5 4.5 0 0 1-9 0zM8 12v2.5',
  hook: 'M7 3.5a2.5 2.5 0 1 1 2.4 3.2L6.6 12M4.5 9.5A2.5 2.5 0 1 0 7 12.2h4M11.5 9.3a2.5 2.5 0 1 1-1.2 4.2',
  chart: 'M2.5 13.5h11M4.5 11V7.5M8 11V3.5M11.5 11V6',
  key: 'M9 7.5 14 2.5M11.8 4.7l1.7 1.7M6 13a3.2 3.2 0 1 0 0-6.4A3.2 3.2 0 0 0 6 13z',
  globe:
    'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM2 8h12M8 2c2 2 2.6 4 2.6 6S10 12 8 14c-2-2-2.6-4-2.6-6S6 4 8 2z',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  plus: 'M8 3v10M3 8h10',
  trash: 'M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.7 9h6.6l.7-9M6.8 7v4.3M9.2 7v4.3',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.8 10.8 14 14',
  clip: 'M12.5 7.3 7.6 12.2a3 3 0 0 1-4.2-4.2l5.4-5.4a2 2 0 0 1 2.8 2.8l-5.3 5.3a1 1 0 0 1-1.4-1.4l4.6-4.6',
  back: 'M9.5 3 4.5 8l5 5',
  next: 'm6.5 3 5 5-5 5',
  up: 'm3 9.5 5-5 5 5',
  down: 'm3 6.5 5 5 5-5',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.8V8l2.2 1.6',
  question: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6.3 6.3a1.8 1.8 0 1 1 2.4 1.8c-.5.2-.7.6-.7 1.1M8 11.2v.01',
  refresh: 'M13.2 6.5A5.5 5.5 0 0 0 3.4 5M2.8 9.5A5.5 5.5 0 0 0 12.6 11M3.2 2v3h3M12.8 14v-3h-3',
  send: 'M14 2 2 7l4.5 2.2L9 14z',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  close: 'm4 4 8 8M12 4l-8 8',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9',
  download: 'M8 2.5v7.5M5 7.2 8 10.2l3-3M3 13.5h10',
  out: 'M9.5 2.5h4v11h-4M10 8H2.5M5 5.2 2.2 8 5 10.8',
  external: 'M9.5 2.5h4v4M13.5 2.5 7.5 8.5M6.5 3.5h-4v10h10v-4',
  terminal: 'm3 4.5 3.5 3.5L3 11.5M8 12h5',
  empty: 'M2.5 5h11M2.5 8h7M2.5 11h4M10.5 10.5l3.5 3.5M14 10.5 10.5 14',
  link: 'M7 9.2a2.6 2.6 0 0 0 3.8.2l2.1-2.1a2.6 2.6 0 0 0-3.7-3.7L8.3 4.5M9 6.8a2.6 2.6 0 0 0-3.8-.2L3.1 8.7a2.6 2.6 0 0 0 3.7 3.7l.9-.9',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3l8 5-8 5z',
  warn: 'M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.6v.01',
  unread: 'M2 4h12v8.5H2zM2 4.5l6 4.5 6-4.5',
  tag: 'M2.5 8.5v-6h6l5 5-6 6zM5.5 5.5v.01',
  bell: 'M3.5 11.5h9L11 9V6.5a3 3 0 0 0-6 0V9zM7 13.5h2',
  select: 'M2.5 2.5h11v11h-11zM5 8.2l2.2 2.2L11 6',
  check: 'm3 8.5 3.3 3.3L13 4.8',
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);
