import { describe, expect, it } from 'vitest';
import type { MailAddress } from '../../../src/mail/mail.ts';
import { read } from '../support/mails.ts';

/** What a To field names. */
function named(value: string): MailAddress[] {
  return read(`To: ${value}`, '', 'x', '').summary.to;
}
const box = (address: string, name = ''): MailAddress => ({ address, name });

describe('mailboxes of an address field', () => {
  const cases: [string, string, MailAddress[]][] = [
    ['plain', 'a@b.test', [box('a@b.test')]],
    ['with a name', 'Ada Lovelace <a@b.test>', [box('a@b.test', 'Ada Lovelace')]],
    ['with a quoted name', '"Lovelace, Ada" <a@b.test>', [box('a@b.test', 'Lovelace, Ada')]],
    ['a name that is the address keeps its place', '"a@b.test" <a@b.test>', [box('a@b.test', 'a@b.test')]],
    ['a name that is another address', '"x@evil.test" <a@b.test>', [box('a@b.test', 'x@evil.test')]],
    ['an unquoted name with an @', 'a@b.test <a@b.test>', [box('a@b.test', 'a@b.test')]],
    ['no address at all', 'root', [box('', 'root')]],
    ['words and no address', 'Mail Delivery System', [box('', 'Mail Delivery System')]],
    ['only a quoted name', '"root@host"', [box('', 'root@host')]],
    ['a name and empty brackets', 'Ada <>', [box('', 'Ada')]],
    ['a local name in brackets', 'Cron <root>', [box('root', 'Cron')]],
    ['a comment as name', 'a@b.test (Ada Lovelace)', [box('a@b.test', 'Ada Lovelace')]],
    ['a comment beside a name', 'Ada <a@b.test> (my dear friend)', [box('a@b.test', 'Ada')]],
    ['an encoded name', '=?utf-8?q?Ad=C3=A9?= <a@b.test>', [box('a@b.test', 'Adé')]],
    ['an encoded comma', '=?utf-8?q?Lovelace=2C_Ada?= <a@b.test>', [box('a@b.test', 'Lovelace, Ada')]],
    [
      'a comma left in an encoded word',
      '=?utf-8?q?Lovelace,_Ada?= <a@b.test>',
      [box('a@b.test', 'Lovelace, Ada')],
    ],
    ['encoded words in quotes', '"=?utf-8?q?Ad=C3=A9?= X" <a@b.test>', [box('a@b.test', 'Adé X')]],
    [
      'a mailbox that is encoded as a whole',
      '=?utf-8?q?Ada_=3Ca=40b.test=3E?=, =?utf-8?b?PGNAZC50ZXN0Pg==?=',
      [box('a@b.test', 'Ada'), box('c@d.test')],
    ],
    ['an encoded address is a name', '=?utf-8?q?a=40b.test?=', [box('', 'a@b.test')]],
    ['bytes in Latin-1', 'Ad\xe9 <a@b.test>', [box('a@b.test', 'Adé')]],
    ['bytes in UTF-8', '"Ad\xc3\xa9" <d\xc3\xb6@b.test>', [box('dö@b.test', 'Adé')]],
    [
      'several',
      'a@b.test, "C" <c@d.test>,e@f.test',
      [box('a@b.test'), box('c@d.test', 'C'), box('e@f.test')],
    ],
    ['semicolons between them', 'a@b.test; c@d.test', [box('a@b.test'), box('c@d.test')]],
    ['blanks between them', 'a@b.test c@d.test', [box('a@b.test'), box('c@d.test')]],
    ['empty places', ', a@b.test,, ,c@d.test,', [box('a@b.test'), box('c@d.test')]],
    ['a group', 'Team: a@b.test, "C" <c@d.test>;', [box('a@b.test'), box('c@d.test', 'C')]],
    ['an empty group', 'undisclosed-recipients:;', []],
    ['a group and others', 'T:a@b.test;, c@d.test', [box('a@b.test'), box('c@d.test')]],
    ['a group that is not closed', 'T: a@b.test, c@d.test', [box('a@b.test'), box('c@d.test')]],
    ['a quoted local part', '"john doe"@b.test', [box('"john doe"@b.test')]],
    [
      'a quoted local part in brackets',
      'J <"john \\"x\\" doe"@b.test>',
      [box('"john \\"x\\" doe"@b.test', 'J')],
    ],
    ['an @ in a quoted local part', '"a@evil.test"@b.test', [box('"a@evil.test"@b.test')]],
    ['a source route', 'Mary <@node.test,@n2.test:mary@b.test>', [box('mary@b.test', 'Mary')]],
    ['an address literal', 'a@[IPv6:::1], <b@[192.0.2.1]>', [box('a@[IPv6:::1]'), box('b@[192.0.2.1]')]],
    ['an open bracket', 'Ada <a@b.test', [box('a@b.test', 'Ada')]],
    [
      'an open bracket before another mailbox',
      'Ada <a@b.test, c@d.test',
      [box('a@b.test', 'Ada'), box('c@d.test')],
    ],
    ['two brackets', 'Ada <<a@b.test>>', [box('a@b.test', 'Ada')]],
    ['a name in front without a blank', 'Ada<a@b.test>', [box('a@b.test', 'Ada')]],
    ['an open quote', '"Ada <a@b.test>', [box('a@b.test', 'Ada')]],
    ['a name behind', '<a@b.test> Ada', [box('a@b.test', 'Ada')]],
    ['a name before a bare address', 'Ada a@b.test', [box('a@b.test', 'Ada')]],
    ['a folded list', 'a@b.test,\r\n\t"C"\r\n <c@d.test>', [box('a@b.test'), box('c@d.test', 'C')]],
    ['nothing', '', []],
    ['only signs', '<>,;:', []],
  ];
  it.each(cases)('%s', (_, value, expected) => {
    expect(named(value)).toEqual(expected);
  });

  it('RFC 5322 appendix A.5: comments and blanks leave the address', () => {
    const { summary } = read(
      'From: Pete(A nice \\) chap) <pete(his account)@silly.test(his host)>',
      'To:A Group(Some people)',
      "     :Chris Jones <c@(Chris's host.)public.example>,",
      '         joe@example.org,',
      '  John <jdoe@one.test> (my dear friend); (the end of the group)',
      'Cc:(Empty list)(start)Hidden recipients  :(nobody(that I know))  ;',
      '',
      'Testing.',
    );
    expect(summary).toMatchObject({
      from: box('pete@silly.test', 'Pete'),
      to: [box('c@public.example', 'Chris Jones'), box('joe@example.org'), box('jdoe@one.test', 'John')],
      cc: [],
    });
  });

  it('RFC 5322 appendix A.6: obsolete addressing', () => {
    const { summary, content } = read(
      'From: Joe Q. Public <john.q.public@example.com>',
      'To: Mary Smith <@node.test:mary@example.net>, , jdoe@test  . example',
      'Date: Tue, 1 Jul 2003 10:52:37 +0200',
      'Message-ID: <5678.21-Nov-1997@example.com>',
      '',
      'Hi everyone.',
    );
    expect(summary).toMatchObject({
      from: box('john.q.public@example.com', 'Joe Q. Public'),
      to: [box('mary@example.net', 'Mary Smith'), box('jdoe@test.example')],
    });
    expect(content.rfcMessageId).toBe('<5678.21-Nov-1997@example.com>');
  });

  it('the fields To, Cc, Bcc and Reply-To may come more than once, From counts once', () => {
    const { summary, content } = read(
      ...['To: a@b.test', 'To: c@d.test', 'From: e@f.test, g@h.test', 'From: i@j.test'],
      ...['Reply-To: k@l.test', 'Bcc: m@n.test', '', 'x', ''],
    );
    expect(summary.to).toEqual([box('a@b.test'), box('c@d.test')]);
    expect(summary.from).toEqual(box('e@f.test'));
    expect(content).toMatchObject({ replyTo: [box('k@l.test')], bcc: [box('m@n.test')] });
  });
});
