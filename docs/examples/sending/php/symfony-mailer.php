<?php
// With Composer: require 'vendor/autoload.php';
require 'Symfony/Component/Mailer/autoload.php';

use Symfony\Component\Mailer\Mailer;
use Symfony\Component\Mailer\Transport;
use Symfony\Component\Mime\Email;

$credentials = '';
if (getenv('SMTP_USER')) {
    $credentials = urlencode(getenv('SMTP_USER')) . ':' . urlencode(getenv('SMTP_PASSWORD')) . '@';
}
$dsn = 'smtp://' . $credentials . getenv('SMTP_HOST') . ':' . getenv('SMTP_PORT');

$email = (new Email())
    ->from('Café Größe <hello@shop.example>')
    ->to(getenv('MAIL_TO'))
    ->subject('Grüße: 482910 ist Ihr Code 🎉')
    ->text('Grüße! Ihr Code ist 482910.')
    ->html('<p>Grüße! Ihr Code ist <b>482910</b>.</p>')
    ->attachFromPath('invoice.pdf');
(new Mailer(Transport::fromDsn($dsn)))->send($email);
