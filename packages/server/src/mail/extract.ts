import type { HtmlReading } from './html.ts';
import type { MailCode, MailLink } from './mail.ts';
export function findCodes(_subject: string, _text: string | null, _page: HtmlReading | null): MailCode[] {
  return [];
}
export function findLinks(_text: string | null, page: HtmlReading | null, _unsub: string): MailLink[] {
  return (page?.anchors ?? []).map((a) => ({ href: a.href, text: a.text, kind: 'other' }));
}
