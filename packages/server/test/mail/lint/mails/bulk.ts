import {
  alternative,
  crlf,
  header,
  html,
  mjml,
  multipart,
  type NamedMail,
  ONE_CLICK,
  part,
  text,
} from './building.ts';

const NEWS = 'Acme News <news@news.example>';
const FOOT_TEXT =
  '\n\nYou get this because you signed up at news.example.\nUnsubscribe: https://news.example/u/9f8e7d\nAcme, 1 Main Street, Springfield';
const FOOT =
  '<p style="font-size:12px;color:#666">You get this because you signed up at news.example.<br><a href="https://news.example/u/9f8e7d">Unsubscribe</a><br>Acme, 1 Main Street, Springfield</p><img src="https://news.example/open/9f8e7d.gif" width="1" height="1" alt="" style="display:block">';

/** Newsletters, digests, offers: what is sent to many. */
export const BULK: NamedMail[] = [
  [
    'an offer with one-click unsubscribe',
    crlf([
      ...header(
        '20 % off until Sunday',
        NEWS,
        ...ONE_CLICK,
        'Precedence: bulk',
        'Feedback-ID: c1:news:acme',
        'X-Report-Abuse: https://news.example/abuse',
      ),
      alternative(
        `20 % off until Sunday\n\nWarm socks, now 9.60 EUR: https://shop.example/socks\nRound table, now 79.20 EUR: https://shop.example/table${FOOT_TEXT}`,
        mjml(
          `<h1>20 % off until Sunday</h1><table role="presentation" width="100%"><tr><td width="50%"><a href="https://shop.example/socks"><img src="https://cdn.shop.example/socks.jpg" alt="Warm socks, now 9.60 EUR" width="250" style="width:100%;max-width:250px;height:auto"></a></td><td width="50%"><a href="https://shop.example/table"><img src="https://cdn.shop.example/table.jpg" alt="Round table, now 79.20 EUR" width="250" style="width:100%;max-width:250px;height:auto"></a></td></tr></table>${FOOT}`,
        ),
      ),
    ]),
  ],
  [
    'a campaign of a marketing service with a link to the browser version',
    crlf([
      ...header(
        'What we learned in November',
        '"Acme" <hello@news.example>',
        ...ONE_CLICK,
        'List-ID: 8a7b list <8a7b.list-id.news.example>',
        'X-Campaign: campaign8a7b',
        'x-accounttype: pd',
        'Reply-To: hello@news.example',
      ),
      alternative(
        `View this email in your browser (https://news.example/v/1)\n\n** What we learned in November\n------------------------------------------------------------\n\nWe shipped search. It finds every message.\n\nRead more (https://blog.example/search)${FOOT_TEXT}`,
        `<!doctype html><html xmlns="http://www.w3.org/1999/xhtml" xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office"><head><!--[if gte mso 15]><xml><o:OfficeDocumentSettings><o:AllowPNG/><o:PixelsPerInch>96</o:PixelsPerInch></o:OfficeDocumentSettings></xml><![endif]--><meta charset="UTF-8"><meta http-equiv="X-UA-Compatible" content="IE=edge"><meta name="viewport" content="width=device-width, initial-scale=1"><title>What we learned in November</title><style type="text/css">p{margin:10px 0;padding:0;} table{border-collapse:collapse;} h1,h2,h3,h4,h5,h6{display:block;margin:0;padding:0;} img,a img{border:0;height:auto;outline:none;text-decoration:none;} body,#bodyTable,#bodyCell{height:100%;margin:0;padding:0;width:100%;} .mcnPreviewText{display:none !important;} #outlook a{padding:0;} .ReadMsgBody{width:100%;} .ExternalClass{width:100%;} a[x-apple-data-detectors]{color:inherit !important;text-decoration:none !important;} @media only screen and (min-width:768px){.templateContainer{width:600px !important;}} @media only screen and (max-width:480px){.mcnImage{width:100% !important;} .mcnTextContent,.mcnBoxedTextContentColumn{padding-right:18px !important;padding-left:18px !important;}}</style></head><body><span class="mcnPreviewText" style="display:none; font-size:0px; line-height:0px; max-height:0px; max-width:0px; opacity:0; overflow:hidden; visibility:hidden; mso-hide:all;">It finds every message.</span><center><table align="center" border="0" cellpadding="0" cellspacing="0" height="100%" width="100%" id="bodyTable"><tr><td align="center" valign="top" id="bodyCell"><table border="0" cellpadding="0" cellspacing="0" width="100%" class="templateContainer"><tr><td valign="top"><a href="https://news.example/v/1" target="_blank">View this email in your browser</a></td></tr><tr><td valign="top" class="mcnTextContent"><img align="center" alt="" class="mcnImage" src="https://img.news.example/header.png" width="564" style="max-width:1128px; padding-bottom:0; display:inline !important; vertical-align:bottom;"><h1>What we learned in November</h1><p>We shipped search. It finds every message.</p><p><a href="https://blog.example/search">Read more</a></p></td></tr></table>${FOOT}</td></tr></table></center></body></html>`,
      ),
    ]),
  ],
  [
    'a newsletter of a writer, one long text',
    crlf([
      ...header(
        'On the carry',
        'Ada from Notes <notes@letters.example>',
        ...ONE_CLICK,
        'List-Post: <mailto:notes@letters.example>',
        'List-Archive: <https://notes.letters.example/archive>',
        'List-Url: <https://notes.letters.example/>',
      ),
      alternative(
        `View this post on the web at https://notes.letters.example/p/on-the-carry\n\n${'The carry is what makes addition hard.\n'.repeat(20)}${FOOT_TEXT}`,
        `<html style="scrollbar-width: thin;"><head><title>On the carry</title><style>@media all and (-ms-high-contrast: none), (-ms-high-contrast: active) { .typography h1 { margin: 1em 0 0.625em; } } @media screen and (max-width: 650px) { .typography .subtitle { font-size: 20px } } a { color: inherit }</style></head><body class="email-body"><img src="https://letters.example/o/1.gif" alt="" width="1" height="1" border="0" style="height:1px!important;width:1px!important;border-width:0!important;margin:0!important;padding:0!important"><div class="preview" style="display:none;font-size:1px;color:#333333;line-height:1px;max-height:0px;max-width:0px;opacity:0;overflow:hidden;">It is what makes addition hard.</div><div class="preview" style="display:none">${'&#847; &#173; '.repeat(40)}</div><table role="presentation" width="100%" border="0" cellspacing="0" cellpadding="0"><tr><td></td><td class="content" width="550"><h1 class="post-title">On the carry</h1><div dir="auto" class="body markup">${'<p style="font-size:18px;line-height:26px">The carry is what makes addition hard. The carry is what makes addition hard. The carry is what makes addition hard.</p>'.repeat(20)}</div>${FOOT}</td><td></td></tr></table></body></html>`,
      ),
    ]),
  ],
  [
    'a weekly digest of a forum',
    crlf([
      ...header(
        '[Forum] Summary',
        'Forum <noreply@forum.example>',
        'List-Unsubscribe: <https://forum.example/email/unsubscribe/1f>',
        'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
        'X-Auto-Response-Suppress: All',
        'Auto-Submitted: auto-generated',
      ),
      alternative(
        'A brief summary of Forum since your last visit\n\n### Popular topics\n\nHow do you test mail? https://forum.example/t/1\n\nUnsubscribe: https://forum.example/email/unsubscribe/1f',
        '<html><body style="margin:0"><table width="100%"><tr><td><p>A brief summary of <a href="https://forum.example">Forum</a> since your last visit</p><h3>Popular topics</h3><p><a href="https://forum.example/t/1">How do you test mail?</a></p><p><img src="https://forum.example/u/ada/48.png" alt="ada" width="48" height="48" style="border-radius:50%"></p><p><a href="https://forum.example/email/unsubscribe/1f">Unsubscribe</a></p></td></tr></table></body></html>',
      ),
    ]),
  ],
  [
    'a mail with an AMP alternative',
    crlf([
      ...header('3 new comments', 'Acme Docs <comments@docs.example>', ...ONE_CLICK),
      multipart('alternative', [
        text(
          '3 new comments on "Notes". Open: https://docs.example/d/1\n\nUnsubscribe: https://news.example/u/9f8e7d',
        ),
        part(
          ['Content-Type: text/x-amp-html; charset="UTF-8"', 'Content-Transfer-Encoding: 8bit'],
          '<!doctype html><html amp4email data-css-strict><head><meta charset="utf-8"><script async src="https://cdn.ampproject.org/v0.js"></script><script async custom-element="amp-list" src="https://cdn.ampproject.org/v0/amp-list-0.1.js"></script><style amp4email-boilerplate>body{visibility:hidden}</style><style amp-custom>h1{margin:1rem}</style></head><body><amp-list width="auto" height="100" layout="fixed-height" src="https://docs.example/amp/1"><template type="amp-mustache"><p>{{text}}</p></template></amp-list><amp-img src="https://docs.example/i.png" width="50" height="50" alt="Notes"></amp-img></body></html>',
        ),
        html(
          '<p>3 new comments on "Notes". <a href="https://docs.example/d/1">Open</a></p><p><a href="https://news.example/u/9f8e7d">Unsubscribe</a></p>',
        ),
      ]),
    ]),
  ],
  [
    'a mail with rules for dark mode',
    crlf([
      ...header('Your week in review', NEWS, ...ONE_CLICK),
      alternative(
        `You walked 42 km this week.${FOOT_TEXT}`,
        mjml(
          `<p class="dark-text">You walked 42 km this week.</p><!--[if !mso]><!--><div class="dark-img" style="display:none; overflow:hidden; float:left; width:0px; max-height:0px; max-width:0px; line-height:0px; visibility:hidden;"><img src="https://cdn.news.example/logo-dark.png" alt="Acme" width="120" height="40"></div><!--<![endif]--><img class="light-img" src="https://cdn.news.example/logo.png" alt="Acme" width="120" height="40">${FOOT}`,
          '<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"><style>:root{color-scheme:light dark;supported-color-schemes:light dark} @media (prefers-color-scheme: dark){.dark-img{display:block !important;width:auto !important;overflow:visible !important;float:none !important;max-height:inherit !important;max-width:inherit !important;visibility:inherit !important} .light-img{display:none !important} .dark-text{color:#fff !important}} [data-ogsc] .light-img{display:none !important} [data-ogsc] .dark-text{color:#fff !important}</style>',
        ),
      ),
    ]),
  ],
  [
    'a survey with a scale of links',
    crlf([
      ...header('How likely are you to recommend Acme?', NEWS, ...ONE_CLICK),
      alternative(
        `How likely are you to recommend Acme?\n\n${Array.from({ length: 11 }, (_, n) => `${n}: https://survey.example/s/1?score=${n}`).join('\n')}${FOOT_TEXT}`,
        mjml(
          `<p>How likely are you to recommend Acme?</p><table role="presentation" align="center"><tr>${Array.from({ length: 11 }, (_, n) => `<td style="padding:4px"><a href="https://survey.example/s/1?score=${n}" style="display:block;width:28px;line-height:28px;text-align:center;border:1px solid #ccc;border-radius:4px">${n}</a></td>`).join('')}</tr></table>${FOOT}`,
        ),
      ),
    ]),
  ],
  [
    'a cart that was left, with a background image for Outlook',
    crlf([
      ...header('You left something behind', NEWS, ...ONE_CLICK),
      alternative(
        `You left something behind\n\nYour cart: https://shop.example/cart${FOOT_TEXT}`,
        mjml(
          `<table width="600"><tr><td background="https://cdn.shop.example/bg.jpg" bgcolor="#7bceeb" width="600" height="200" valign="top"><!--[if gte mso 9]><v:rect xmlns:v="urn:schemas-microsoft-com:vml" fill="true" stroke="false" style="width:600px;height:200px;"><v:fill type="tile" src="https://cdn.shop.example/bg.jpg" color="#7bceeb" /><v:textbox inset="0,0,0,0"><![endif]--><div><h1>You left something behind</h1><!--[if mso]><v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" href="https://shop.example/cart" style="height:40px;v-text-anchor:middle;width:200px;" arcsize="10%" fillcolor="#d62828"><center style="color:#ffffff">Your cart</center></v:roundrect><![endif]--><!--[if !mso]> <!--><a href="https://shop.example/cart" style="background-color:#d62828;border-radius:4px;color:#ffffff;display:inline-block;line-height:40px;text-align:center;text-decoration:none;width:200px;-webkit-text-size-adjust:none;">Your cart</a><!-- <![endif]--></div><!--[if gte mso 9]></v:textbox></v:rect><![endif]--></td></tr></table>${FOOT}`,
        ),
      ),
    ]),
  ],
  [
    'a job alert with company logos',
    crlf([
      ...header('12 new jobs for "test engineer"', 'Acme Jobs <alerts@jobs.example>', ...ONE_CLICK),
      alternative(
        `12 new jobs for "test engineer"\n\nTest engineer, Engines Ltd, London: https://jobs.example/1\nQA lead, Looms & Co, Leeds: https://jobs.example/2${FOOT_TEXT}`,
        mjml(
          `<h2>12 new jobs for &quot;test engineer&quot;</h2>${['Test engineer|Engines Ltd|London', 'QA lead|Looms &amp; Co|Leeds'].map((job, n) => `<table role="presentation" width="100%"><tr><td width="48"><img src="https://cdn.jobs.example/${n}.png" alt="${job.split('|')[1]}" width="48" height="48"></td><td><a href="https://jobs.example/${n + 1}">${job.split('|')[0]}</a><br>${job.split('|').slice(1).join(', ')}</td></tr></table>`).join('')}${FOOT}`,
        ),
      ),
    ]),
  ],
  [
    'a newsletter in text alone',
    crlf([
      ...header('Release notes 4.2', NEWS, ...ONE_CLICK, 'Precedence: bulk'),
      text(
        `Acme 4.2\n========\n\n* Search finds every message.\n* Exports are zip files.\n\nFull notes: https://acme.example/4.2${FOOT_TEXT}`,
      ),
    ]),
  ],
  [
    'an announcement of new terms, which nobody can unsubscribe from',
    crlf([
      ...header('We are updating our terms', 'Acme <legal@acme.example>'),
      alternative(
        'We are updating our terms of service on 1 January 2027. Read them: https://acme.example/terms\n\nThis is a mandatory notice about your account.',
        mjml(
          '<p>We are updating our terms of service on 1 January 2027. <a href="https://acme.example/terms">Read them</a>.</p><p>This is a mandatory notice about your account.</p>',
        ),
      ),
    ]),
  ],
];
