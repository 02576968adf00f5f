use strict;
use warnings;
use Net::SMTP;

my $smtp = Net::SMTP->new($ENV{SMTP_HOST}, Port => $ENV{SMTP_PORT}) or die "no connection: $@";
if ($ENV{SMTP_STARTTLS}) {
    $smtp->starttls or die "no TLS: $IO::Socket::SSL::SSL_ERROR";
}
if ($ENV{SMTP_USER}) {
    $smtp->auth($ENV{SMTP_USER}, $ENV{SMTP_PASSWORD}) or die 'not authenticated: ', $smtp->message;
}
$smtp->mail('hello@shop.example') or die $smtp->message;
$smtp->to($ENV{MAIL_TO}) or die $smtp->message;
$smtp->data(<<"MAIL") or die $smtp->message;
From: =?UTF-8?Q?Caf=C3=A9_Gr=C3=B6=C3=9Fe?= <hello\@shop.example>
To: $ENV{MAIL_TO}
Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe:_482910_ist_Ihr_Code_=F0=9F=8E=89?=
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary=b1

--b1
Content-Type: text/plain; charset=UTF-8

Grüße! Ihr Code ist 482910.
--b1
Content-Type: text/html; charset=UTF-8

<p>Grüße! Ihr Code ist <b>482910</b>.</p>
--b1--
MAIL
$smtp->quit;
