import {
  alternative,
  button,
  crlf,
  header,
  html,
  mjml,
  type NamedMail,
  text,
  transactional,
} from './building.ts';

const APP = '"Acme" <no-reply@acme.example>';

/** Welcome, verify, sign in, reset, pay: what applications send one by one. */
export const TRANSACTIONAL: NamedMail[] = [
  [
    'a welcome mail of a template for transactional mail',
    crlf([
      ...header('Welcome to Acme, Ada!', APP, 'X-PM-Message-Stream: outbound'),
      alternative(
        'Welcome, Ada!\n\nThanks for trying Acme. To get the most out of it, do this first:\n\nDo this first ( https://app.acme.example/start )\n\nIf you have any questions, reply to this mail.\n\nThe Acme team',
        transactional(
          `<h1>Welcome, Ada!</h1><p>Thanks for trying Acme. To get the most out of it, do this first:</p>${button('https://app.acme.example/start', 'Do this first')}<p>If you have any questions, reply to this mail.</p><p>The Acme team</p>`,
        ),
      ),
    ]),
  ],
  [
    'a magic link',
    crlf([
      ...header('Sign in to Acme', APP),
      alternative(
        'Sign in to Acme\n\nhttps://app.acme.example/auth/callback?token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0NzExIn0.c2lnbmF0dXJl\n\nThis link expires in 10 minutes and can be used once. If you did not ask for it, ignore this mail.',
        '<body style="background: #f9f9f9;"><table width="100%" border="0" cellspacing="20" cellpadding="0" style="background: #fff; max-width: 600px; margin: auto; border-radius: 10px;"><tr><td align="center" style="padding: 10px 0px; font-size: 22px; font-family: Helvetica, Arial, sans-serif; color: #444;">Sign in to <strong>Acme</strong></td></tr><tr><td align="center" style="padding: 20px 0;"><table border="0" cellspacing="0" cellpadding="0"><tr><td align="center" style="border-radius: 5px;" bgcolor="#346df1"><a href="https://app.acme.example/auth/callback?token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0NzExIn0.c2lnbmF0dXJl" target="_blank" style="font-size: 18px; font-family: Helvetica, Arial, sans-serif; color: #fff; text-decoration: none; border-radius: 5px; padding: 10px 20px; border: 1px solid #346df1; display: inline-block; font-weight: bold;">Sign in</a></td></tr></table></td></tr><tr><td align="center">This link expires in 10 minutes and can be used once. If you did not ask for it, ignore this mail.</td></tr></table></body>',
      ),
    ]),
  ],
  [
    'a one-time code bound to a domain',
    crlf([
      ...header('Your Acme code is 482-913', APP),
      alternative(
        'Your verification code is 482-913. It expires in 10 minutes.\n\nDo not share it with anyone.\n\n@acme.example #482913',
        transactional(
          '<p>Your verification code:</p><p style="font-size:32px;letter-spacing:6px;font-family:monospace"><strong>482-913</strong></p><p>It expires in 10 minutes. Do not share it with anyone.</p><p style="color:#999">@acme.example #482913</p>',
        ),
      ),
    ]),
  ],
  [
    'a password reset as Django sends it',
    crlf([
      ...header('Password reset on acme.example', 'webmaster@acme.example'),
      'Content-Type: text/plain; charset="utf-8"',
      'Content-Transfer-Encoding: 7bit',
      '',
      "\nYou're receiving this email because you requested a password reset for your user account at acme.example.\n\nPlease go to the following page and choose a new password:\n\nhttps://acme.example/accounts/reset/MQ/c5v-8a1f4e/\n\nYour username, in case you've forgotten: ada\n\nThanks for using our site!\n\nThe acme.example team\n",
    ]),
  ],
  [
    'a password reset with the address of the request',
    crlf([
      ...header('Reset your password', APP),
      alternative(
        'Hi Ada,\n\nYou asked to reset the password of your Acme account. Use this link within 24 hours:\n\nReset your password ( https://acme.example/reset?code=7f3a )\n\nFor security, this request came from a Linux device using Firefox. If it was not you, ignore this mail or contact support ( https://acme.example/support ).',
        transactional(
          `<h1>Hi Ada,</h1><p>You asked to reset the password of your Acme account. Use this link within <strong>24 hours</strong>:</p>${button('https://acme.example/reset?code=7f3a', 'Reset your password')}<p>For security, this request came from a Linux device using Firefox. If it was not you, ignore this mail or <a href="https://acme.example/support">contact support</a>.</p>`,
        ),
      ),
    ]),
  ],
  [
    'a receipt of a payment service',
    crlf([
      ...header(
        'Your receipt from Acme Inc. #2247-8812',
        'Acme Inc. <receipts+acct_1032@pay.example>',
        'Reply-To: Acme Inc. <support@acme.example>',
        'Feedback-ID: receipts:pay.example',
      ),
      alternative(
        'Receipt from Acme Inc.\n\nAmount paid: $24.00\nDate paid: Nov 22, 2026\nPayment method: Visa - 4242\n\nPro plan: $20.00\nTax: $4.00\nTotal: $24.00\n\nQuestions? Write to support@acme.example.',
        `<html><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8"><style>@media (max-width: 600px) { .Card { border-radius: 0 !important } } @media (prefers-color-scheme: dark) { .Card { background: #222 !important } }</style></head><body class="Email" style="margin:0;padding:0;min-width:100%"><table class="Card" width="600" align="center" cellpadding="0" cellspacing="0" style="border-radius:8px"><tr><td><h1 style="font-size:20px">Receipt from Acme Inc.</h1><table width="100%"><tr><td>Amount paid</td><td align="right">$24.00</td></tr><tr><td>Date paid</td><td align="right">Nov 22, 2026</td></tr><tr><td>Payment method</td><td align="right"><img alt="Visa" src="https://img.pay.example/visa.png" width="36" height="24" style="border:0;line-height:100%;vertical-align:text-bottom"> - 4242</td></tr></table><hr><table width="100%"><tr><td>Pro plan</td><td align="right">$20.00</td></tr><tr><td>Tax</td><td align="right">$4.00</td></tr><tr><td><b>Total</b></td><td align="right"><b>$24.00</b></td></tr></table><p>Questions? Write to <a href="mailto:support@acme.example">support@acme.example</a>.</p></td></tr></table></body></html>`,
      ),
    ]),
  ],
  [
    'a notice of a failed payment',
    crlf([
      ...header('Your payment of $24.00 was declined', APP),
      alternative(
        'We could not charge your card ending in 4242. Update your payment method before Nov 29 to keep your plan: https://acme.example/billing',
        mjml(
          '<p>We could not charge your card ending in 4242. Update your payment method before Nov 29 to keep your plan:</p><p><a href="https://acme.example/billing">https://acme.example/billing</a></p>',
        ),
      ),
    ]),
  ],
  [
    'an order on its way, with a progress bar of cells',
    crlf([
      ...header('Your order 114-7753 has shipped', '"Acme Shop" <shipment-tracking@acme.example>'),
      alternative(
        'Your package was shipped.\n\nArriving: Tuesday, November 24\nTrack it: https://acme.example/track/114-7753\n\nWarm socks, quantity 2',
        mjml(
          '<p>Your package was shipped.</p><table role="presentation" width="100%" cellspacing="0"><tr><td width="50%" height="6" bgcolor="#067d62" style="font-size:1px;line-height:6px">&nbsp;</td><td width="50%" height="6" bgcolor="#dddddd" style="font-size:1px;line-height:6px">&nbsp;</td></tr></table><p>Arriving: <b>Tuesday, November 24</b></p><p>Track it: <a href="https://acme.example/track/114-7753">https://acme.example/track/114-7753</a></p><table><tr><td><a href="https://acme.example/p/socks"><img src="https://img.acme.example/socks.jpg" alt="" width="115" height="115" border="0"></a></td><td>Warm socks, quantity 2</td></tr></table>',
        ),
      ),
    ]),
  ],
  [
    'a security alert',
    crlf([
      ...header(
        'Security alert',
        'Acme Accounts <no-reply@accounts.acme.example>',
        'X-Notifications: 1',
        'Feedback-ID: 91:account-notifier',
      ),
      alternative(
        'A new sign-in on Linux\nada@mayfly.test\n\nWe noticed a new sign-in to your account on a Linux device. If this was you, you do not need to do anything. If not, we will help you secure your account.\n\nCheck activity\nhttps://accounts.acme.example/notifications\n\n(c) 2026 Acme, 1 Main Street, Springfield',
        '<!DOCTYPE html><html lang="en"><head><meta name="format-detection" content="email=no"/><meta name="format-detection" content="date=no"/><style nonce="x">.awl a {color: #FFFFFF; text-decoration: none;} .abml a {color: #000000; font-family: Roboto-Medium,Helvetica,Arial,sans-serif; font-weight: bold; text-decoration: none;} @media screen and (min-width: 600px) {.v2sp {padding: 6px 30px 0px;} .v2rsp {padding: 0px 10px;}}</style></head><body style="margin: 0; padding: 0;" bgcolor="#FFFFFF"><table width="100%" height="100%" style="min-width: 348px;" border="0" cellspacing="0" cellpadding="0" lang="en"><tr height="32" style="height: 32px;"><td></td></tr><tr align="center"><td><div itemscope itemtype="//schema.org/EmailMessage"><div itemprop="action" itemscope itemtype="//schema.org/ViewAction"><link itemprop="url" href="https://accounts.acme.example/notifications"/><meta itemprop="name" content="Review Activity"/></div></div><table border="0" cellspacing="0" cellpadding="0" style="padding-bottom: 20px; max-width: 516px; min-width: 220px;"><tr><td width="8" style="width: 8px;"></td><td><img src="https://img.acme.example/logo_74x24.png" width="74" height="24" aria-hidden="true" style="margin-bottom: 16px;" alt="Acme"><div style="font-size: 24px;">A new sign-in on Linux</div><div>ada@mayfly.test</div><p>We noticed a new sign-in to your account on a Linux device. If this was you, you do not need to do anything. If not, we will help you secure your account.</p><a href="https://accounts.acme.example/notifications" target="_blank" style="line-height: 16px; color: #ffffff; font-weight: 400; text-decoration: none; font-size: 14px; display: inline-block; padding: 10px 24px; background-color: #4184F3; border-radius: 5px; min-width: 90px;">Check activity</a><p>&copy; 2026 Acme, 1 Main Street, Springfield</p></td><td width="8" style="width: 8px;"></td></tr></table></td></tr><tr height="32" style="height: 32px;"><td></td></tr></table></body></html>',
      ),
    ]),
  ],
  [
    'an invitation to a team, HTML with a short text that says the same',
    crlf([
      ...header(
        'Grace invited you to join Engines on Acme',
        'Grace Hopper via Acme <notifications@acme.example>',
        'Reply-To: grace@acme.example',
      ),
      alternative(
        'Grace invited you to join Engines on Acme.\n\nJoin: https://acme.example/invite/99',
        transactional(
          `<p>Grace invited you to join <b>Engines</b> on Acme.</p>${button('https://acme.example/invite/99', 'Join')}`,
        ),
      ),
    ]),
  ],
  [
    'a notification of a code host',
    crlf([
      ...header(
        'Re: [acme/engine] Fix the carry (PR #42)',
        'Grace Hopper <notifications@code.example>',
        'Reply-To: acme/engine <reply+AAAB42@reply.code.example>',
        'To: acme/engine <engine@noreply.code.example>',
        'Cc: Ada Lovelace <ada@mayfly.test>, Comment <comment@noreply.code.example>',
        'In-Reply-To: <acme/engine/pull/42@code.example>',
        'References: <acme/engine/pull/42@code.example>',
        'List-ID: acme/engine <engine.acme.code.example>',
        'List-Archive: <https://code.example/acme/engine>',
        'List-Post: <mailto:reply+AAAB42@reply.code.example>',
        'List-Unsubscribe: <mailto:unsub+AAAB42@reply.code.example>, <https://code.example/notifications/unsubscribe/AAAB42>',
        'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
        'Precedence: list',
      ),
      alternative(
        '@ada approved these changes.\n\nLooks good.\n\n-- \nReply to this email directly or view it on the site:\nhttps://code.example/acme/engine/pull/42#review-1\nYou are receiving this because you authored the thread.',
        '<p></p>\n<p dir="auto"><b>@ada</b> approved these changes.</p><p dir="auto">Looks good.</p>\n<p style="font-size:small;-webkit-text-size-adjust:none;color:#666;">&mdash;<br />Reply to this email directly, <a href="https://code.example/acme/engine/pull/42#review-1">view it on the site</a>, or <a href="https://code.example/notifications/unsubscribe/AAAB42">unsubscribe</a>.<br />You are receiving this because you authored the thread.<img src="https://code.example/notifications/beacon/AAAB42.gif" height="1" width="1" alt="" /><span style="color: transparent; font-size: 0; display: none; visibility: hidden; overflow: hidden; opacity: 0; width: 0; height: 0; max-width: 0; max-height: 0; mso-hide: all">Message ID: <span>&lt;acme/engine/pull/42/review/1</span><span>@</span><span>code</span><span>.</span><span>example&gt;</span></span></p>',
      ),
    ]),
  ],
  [
    'an account deletion with only text',
    crlf([
      ...header('Your account was deleted', APP),
      text('Your account and all its data were deleted on 22 November 2026.'),
    ]),
  ],
  [
    'a mail of HTML alone as Rails sends it',
    crlf([
      ...header('Confirmation instructions', APP),
      html(
        '<p>Welcome ada@mayfly.test!</p>\n\n<p>You can confirm your account email through the link below:</p>\n\n<p><a href="https://acme.example/users/confirmation?confirmation_token=q7sT">Confirm my account</a></p>\n',
      ),
    ]),
  ],
  [
    'a boarding pass with a pass for a phone',
    crlf([
      ...header('Your boarding pass LX 318', 'Acme Air <boarding@air.example>'),
      'Content-Type: multipart/mixed; boundary="mix"',
      '',
      '--mix',
      alternative('LX 318, gate opens 10:20, seat 12A.', mjml('<p>LX 318, gate opens 10:20, seat 12A.</p>')),
      '--mix',
      'Content-Type: application/vnd.apple.pkpass; name="boarding.pkpass"',
      'Content-Disposition: attachment; filename="boarding.pkpass"',
      'Content-Transfer-Encoding: base64',
      '',
      'UEsDBBQAAAAIAA==',
      '--mix--',
    ]),
  ],
];
