import {
  alternative,
  base64,
  crlf,
  header,
  html,
  multipart,
  type NamedMail,
  part,
  text,
} from './building.ts';

const ADA = 'Ada Lovelace <ada@people.example>';
const CALENDAR = `BEGIN:VCALENDAR
PRODID:-//Acme//Calendar//EN
VERSION:2.0
CALSCALE:GREGORIAN
METHOD:REQUEST
BEGIN:VEVENT
DTSTART:20261123T100000Z
DTEND:20261123T110000Z
DTSTAMP:20261122T081530Z
ORGANIZER;CN=Grace Hopper:mailto:grace@acme.example
UID:7f3a@calendar.example
ATTENDEE;CUTYPE=INDIVIDUAL;ROLE=REQ-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=TRUE;CN=ada@mayfly.test:mailto:ada@mayfly.test
SUMMARY:Engines
END:VEVENT
END:VCALENDAR`;

/** Mails of people, calendars, machines and mail servers. */
export const PROGRAMS: NamedMail[] = [
  [
    'an invitation of a calendar, with the file attached as well',
    crlf([
      ...header(
        'Invitation: Engines @ Mon Nov 23, 2026 10am (ada@mayfly.test)',
        'Grace Hopper <grace@acme.example>',
        'Sender: Acme Calendar <calendar-notification@acme.example>',
        'Reply-To: Grace Hopper <grace@acme.example>',
        'Auto-Submitted: auto-generated',
      ),
      multipart('mixed', [
        multipart('alternative', [
          text(
            'Engines\nMonday Nov 23, 2026 10am - 11am\n\nReply for ada@mayfly.test: https://calendar.example/r?eid=1',
          ),
          html(
            '<html><head></head><body><span itemscope itemtype="http://schema.org/InformAction"><span style="display:none" itemprop="about" itemscope itemtype="http://schema.org/Person"><meta itemprop="description" content="Invitation from Grace Hopper"/></span></span><table><tr><td><h2>Engines</h2><time itemprop="startDate" datetime="20261123T100000Z">Monday Nov 23, 2026 10am - 11am</time><p>Reply for ada@mayfly.test: <a href="https://calendar.example/r?eid=1">Yes</a></p></td></tr></table></body></html>',
          ),
          part(
            [
              'Content-Type: text/calendar; charset="UTF-8"; method=REQUEST',
              'Content-Transfer-Encoding: 7bit',
            ],
            CALENDAR,
          ),
        ]),
        part(
          [
            'Content-Type: application/ics; name="invite.ics"',
            'Content-Disposition: attachment; filename="invite.ics"',
            'Content-Transfer-Encoding: base64',
          ],
          base64(CALENDAR),
        ),
      ]),
    ]),
  ],
  [
    'a cancellation in a single calendar part',
    crlf([
      ...header('Canceled: Engines', 'Grace Hopper <grace@acme.example>'),
      part(
        ['Content-Type: text/calendar; charset=utf-8; method=CANCEL'],
        CALENDAR.replace('METHOD:REQUEST', 'METHOD:CANCEL'),
      ),
    ]),
  ],
  [
    'a mail with a DKIM and an ARC signature',
    crlf([
      'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=people.example; s=s1; t=1795335330;\n h=from:to:subject:date:message-id; bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;\n b=dzdVyOfAKCdLXdJOc9G2q8LoXSlEniSbav+yuU4zGeeruD00lszZVoG4ZHRNiYzR',
      'ARC-Seal: i=1; a=rsa-sha256; t=1795335330; cv=none; d=people.example; s=arc; b=abc=',
      'Received: from mail.people.example (mail.people.example [192.0.2.1]) by mx.mayfly.test with ESMTPS id 1; Sun, 22 Nov 2026 08:15:31 +0000',
      ...header('Lunch', ADA),
      text('At twelve?'),
    ]),
  ],
  [
    'a reply with a quote as Apple Mail writes it',
    crlf([
      ...header(
        'Re: Lunch',
        ADA,
        'Mime-Version: 1.0 (Mac OS X Mail 16.0 \\(3774.600.62\\))',
        'In-Reply-To: <1@people.example>',
        'References: <1@people.example>',
        'X-Mailer: Apple Mail (2.3774.600.62)',
      ),
      multipart('alternative', [
        part(
          ['Content-Transfer-Encoding: quoted-printable', 'Content-Type: text/plain;\n charset=us-ascii'],
          'Yes!\n\n> On 22 Nov 2026, at 08:15, Grace <grace@acme.example> wrote:\n>=20\n> At twelve?',
        ),
        part(
          ['Content-Transfer-Encoding: quoted-printable', 'Content-Type: text/html;\n charset=us-ascii'],
          '<html><head><meta http-equiv=3D"content-type" content=3D"text/html; charset=3Dus-ascii"></head><body style=3D"overflow-wrap: break-word; -webkit-nbsp-mode: space; line-break: after-white-space;">Yes!<br id=3D"lineBreakAtBeginningOfMessage"><div><br><blockquote type=3D"cite"><div>On 22 Nov 2026, at 08:15, Grace &lt;grace@acme.example&gt; wrote:</div><br class=3D"Apple-interchange-newline"><div>At twelve?</div></blockquote></div><br></body></html>',
        ),
      ]),
    ]),
  ],
  [
    'a mail of Outlook with an inline picture',
    crlf([
      ...header(
        'Picture',
        'Grace Hopper <grace@acme.example>',
        'Thread-Topic: Picture',
        'Content-Language: en-GB',
        'X-MS-Has-Attach: yes',
      ),
      multipart('related; type="multipart/alternative"', [
        multipart('alternative', [
          part(
            ['Content-Type: text/plain; charset="us-ascii"', 'Content-Transfer-Encoding: 7bit'],
            'Look:\n\n[cid:image001.png@01DB3C8F.7D6B1A20]\n',
          ),
          html(
            '<html xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office" xmlns:w="urn:schemas-microsoft-com:office:word" xmlns:m="http://schemas.microsoft.com/office/2004/12/omml" xmlns="http://www.w3.org/TR/REC-html40"><head><meta http-equiv="Content-Type" content="text/html; charset=us-ascii"><!--[if !mso]><style>v\\:* {behavior:url(#default#VML);}</style><![endif]--><style><!-- @font-face {font-family:Calibri; panose-1:2 15 5 2 2 2 4 3 2 4;} p.MsoNormal, li.MsoNormal, div.MsoNormal {margin:0cm; font-size:11.0pt; font-family:"Calibri",sans-serif;} @page WordSection1 {size:612.0pt 792.0pt; margin:72.0pt 72.0pt 72.0pt 72.0pt;} div.WordSection1 {page:WordSection1;} --></style></head><body lang="EN-GB" link="#0563C1" vlink="#954F72" style="word-wrap:break-word"><div class="WordSection1"><p class="MsoNormal">Look:<o:p></o:p></p><p class="MsoNormal"><img border="0" width="200" height="100" style="width:2.0833in;height:1.0416in" id="Picture_x0020_1" src="cid:image001.png@01DB3C8F.7D6B1A20" alt="A chart of carries"><o:p></o:p></p></div></body></html>',
          ),
        ]),
        part(
          [
            'Content-Type: image/png; name="image001.png"',
            'Content-Description: image001.png',
            'Content-Disposition: inline; filename="image001.png"; size=68; creation-date="Sun, 22 Nov 2026 08:15:30 GMT"',
            'Content-ID: <image001.png@01DB3C8F.7D6B1A20>',
            'Content-Transfer-Encoding: base64',
          ],
          'iVBORw0KGgo=',
        ),
      ]),
    ]),
  ],
  [
    'a mail of nodemailer with its defaults',
    crlf([
      ...header('Hello', 'app@acme.example', 'To: ada@mayfly.test'),
      multipart(
        'alternative',
        [
          part(
            ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: 7bit'],
            'Hello world?',
          ),
          part(
            ['Content-Type: text/html; charset=utf-8', 'Content-Transfer-Encoding: 7bit'],
            '<b>Hello world?</b>',
          ),
        ],
        '--_NmP-1f2e3d4c-Part_1',
      ),
    ]),
  ],
  [
    "a mail of Python's EmailMessage with an attachment",
    crlf([
      ...header('Report', 'app@acme.example', 'To: ada@mayfly.test'),
      multipart(
        'mixed',
        [
          part(
            ['Content-Type: text/plain; charset="utf-8"', 'Content-Transfer-Encoding: 7bit'],
            'The report is attached.',
          ),
          part(
            [
              'Content-Type: text/csv; charset="utf-8"',
              'Content-Transfer-Encoding: 7bit',
              'Content-Disposition: attachment; filename="report.csv"',
              'MIME-Version: 1.0',
            ],
            'run,result\n4711,passed',
          ),
        ],
        '===============1234567890==',
      ),
    ]),
  ],
  [
    'a warning of a cloud service in text',
    crlf([
      ...header('ALARM: "CPU" in EU (Ireland)', 'Cloud Notifications <no-reply@alarms.example>'),
      text(
        'You are receiving this email because your alarm "CPU" has entered the ALARM state.\n\nAlarm details:\n- State change: OK -> ALARM\n\n--\nIf you wish to stop receiving notifications from this topic, please click or visit the link below to unsubscribe:\nhttps://alarms.example/unsubscribe.html?SubscriptionArn=arn:1&Endpoint=ada@mayfly.test',
      ),
    ]),
  ],
  [
    'the output of a cron job',
    crlf([
      ...header(
        'Cron <root@host> /usr/bin/backup',
        '"(Cron Daemon)" <root@host.example>',
        'Auto-Submitted: auto-generated',
        'Precedence: bulk',
        'To: root@host.example',
      ),
      'Content-Type: text/plain; charset=UTF-8',
      'Content-Transfer-Encoding: 8bit',
      'X-Cron-Env: <SHELL=/bin/sh>',
      '',
      'backup: 3 files',
    ]),
  ],
  [
    'a delivery status notification',
    crlf([
      ...header(
        'Undelivered Mail Returned to Sender',
        'MAILER-DAEMON@mx.example (Mail Delivery System)',
        'Auto-Submitted: auto-replied',
      ),
      multipart('report; report-type=delivery-status', [
        part(
          ['Content-Description: Notification', 'Content-Type: text/plain; charset=us-ascii'],
          'This is the mail system at host mx.example.\n\n<bob@mayfly.test>: host mx.mayfly.test said: 550 5.1.1 No such inbox here',
        ),
        part(
          ['Content-Description: Delivery report', 'Content-Type: message/delivery-status'],
          'Reporting-MTA: dns; mx.example\n\nFinal-Recipient: rfc822; bob@mayfly.test\nAction: failed\nStatus: 5.1.1',
        ),
        part(
          ['Content-Description: Undelivered Message', 'Content-Type: message/rfc822'],
          'From: ada@people.example\nTo: bob@mayfly.test\nSubject: Lunch\nDate: Sun, 22 Nov 2026 08:15:29 +0000\n\nAt twelve?',
        ),
      ]),
    ]),
  ],
  [
    'an automatic reply of an absent person',
    crlf([
      ...header(
        'Automatic reply: Lunch',
        ADA,
        'Auto-Submitted: auto-replied',
        'X-Auto-Response-Suppress: All',
        'Precedence: bulk',
        'In-Reply-To: <1@people.example>',
      ),
      text('I am away until 30 November.'),
    ]),
  ],
  [
    'a forwarded mail as an attachment',
    crlf([
      ...header('Fwd: Invoice', ADA),
      multipart('mixed', [
        text('See below.'),
        part(
          [
            'Content-Type: message/rfc822; name="Invoice.eml"',
            'Content-Disposition: attachment; filename="Invoice.eml"',
          ],
          'From: shop@acme.example\nTo: ada@people.example\nSubject: Invoice\nDate: Sat, 21 Nov 2026 08:15:29 +0000\nMessage-ID: <inv@acme.example>\nMIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n\n<p>Invoice 4711</p>',
        ),
      ]),
    ]),
  ],
  [
    'a signed mail (S/MIME)',
    crlf([
      ...header('Contract', ADA),
      multipart('signed; protocol="application/pkcs7-signature"; micalg="sha-256"', [
        text('The contract is agreed.'),
        part(
          [
            'Content-Type: application/pkcs7-signature; name="smime.p7s"',
            'Content-Transfer-Encoding: base64',
            'Content-Disposition: attachment; filename="smime.p7s"',
          ],
          'MIIGSQYJKoZIhvcNAQcCoIIGOjCCBjYCAQEx',
        ),
      ]),
    ]),
  ],
  [
    'a signed mail (PGP/MIME)',
    crlf([
      ...header('Release', ADA),
      multipart('signed; micalg=pgp-sha512; protocol="application/pgp-signature"', [
        multipart('mixed', [
          part(
            [
              'Content-Type: text/plain; charset=us-ascii',
              'Content-Disposition: inline',
              'Content-Transfer-Encoding: quoted-printable',
            ],
            'Released.',
          ),
        ]),
        part(
          ['Content-Type: application/pgp-signature; name="signature.asc"'],
          '-----BEGIN PGP SIGNATURE-----\n\niHUEABYIAB0WIQ\n-----END PGP SIGNATURE-----',
        ),
      ]),
    ]),
  ],
  [
    'a mail with scans and a name in another script',
    crlf([
      ...header('Scans', 'Scanner <scanner@office.example>'),
      multipart('mixed', [
        text('2 pages.'),
        part(
          [
            "Content-Type: application/pdf; name*=utf-8''%E8%AB%8B%E6%B1%82%E6%9B%B8.pdf",
            "Content-Disposition: attachment; filename*=utf-8''%E8%AB%8B%E6%B1%82%E6%9B%B8.pdf",
            'Content-Transfer-Encoding: base64',
          ],
          'JVBERi0xLjQK',
        ),
        part(
          [
            'Content-Type: image/jpeg; name="=?utf-8?b?6KuL5rGC5pu4LmpwZw==?="',
            'Content-Disposition: attachment; filename="=?utf-8?b?6KuL5rGC5pu4LmpwZw==?="',
            'Content-Transfer-Encoding: base64',
          ],
          '/9j/4AAQSkZJRg==',
        ),
      ]),
    ]),
  ],
  [
    'a page with only a picture and its alternative text',
    crlf([
      ...header('Opening on Friday', 'Gallery <hello@gallery.example>'),
      alternative(
        'Opening on Friday, 7 pm, 1 Main Street',
        '<a href="https://gallery.example/opening"><img src="https://gallery.example/card.jpg" alt="Opening on Friday, 7 pm, 1 Main Street" width="600" height="400"></a>',
      ),
    ]),
  ],
];
