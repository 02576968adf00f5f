import { effect, signal } from '@preact/signals';
import { toast } from './actions.ts';
import { onNews } from './arrivals.ts';
import { person } from './format.ts';
import { href, navigate } from './router.ts';

const NAME = 'mayfly notify';
/** Time in which arrivals are combined to one notification. */
const PAUSE_MS = 2_000;

/** Whether the browser notifies of new mail while another window has the focus; stored in the browser. */
export const isNotifying = signal(localStorage.getItem(NAME) === 'on');

effect(() => {
  if (isNotifying.value) localStorage.setItem(NAME, 'on');
  else localStorage.removeItem(NAME);
});

/** Turns notifications on or off; the browser asks for permission the first time. */
export async function toggleNotifying(): Promise<void> {
  if (isNotifying.value) {
    isNotifying.value = false;
    return;
  }
  const isAllowed = 'Notification' in window && (await Notification.requestPermission()) === 'granted';
  isNotifying.value = isAllowed;
  if (!isAllowed)
    toast('The browser does not let this page notify. Allow it in the settings of this site.', 'error');
}

let nextAt = 0;

onNews((arrivals, more) => {
  const [first] = arrivals;
  if (!isNotifying.value || !first || document.hasFocus() || Date.now() < nextAt) return;
  nextAt = Date.now() + PAUSE_MS;
  const { inboxId, message } = first;
  const code = message.codes[0]?.value;
  // All tabs use the same tag, so the notification appears once.
  const note = new Notification(message.subject || '(no subject)', {
    body: `${person(message.from)}${code ? ` · code ${code}` : ''}${arrivals.length > 1 ? ` · ${arrivals.length - 1}${more ? '+' : ''} more` : ''}`,
    tag: 'mayfly',
  });
  note.onclick = () => {
    window.focus();
    navigate(href(`/inboxes/${inboxId}/messages/${message.id}`));
  };
});
