<?php
// With Composer: require 'vendor/autoload.php';
require 'libphp-phpmailer/autoload.php';

use PHPMailer\PHPMailer\PHPMailer;

$mail = new PHPMailer(true);
$mail->isSMTP();
$mail->Host = getenv('SMTP_HOST');
$mail->Port = (int) getenv('SMTP_PORT');
if (getenv('SMTP_USER')) {
    $mail->SMTPAuth = true;
    $mail->Username = getenv('SMTP_USER');
    $mail->Password = getenv('SMTP_PASSWORD');
}
$mail->CharSet = PHPMailer::CHARSET_UTF8;
$mail->setFrom('hello@shop.example', 'Café Größe');
$mail->addAddress(getenv('MAIL_TO'));
$mail->Subject = 'Grüße: 482910 ist Ihr Code 🎉';
$mail->Body = '<p>Grüße! Ihr Code ist <b>482910</b>.</p>';
$mail->AltBody = 'Grüße! Ihr Code ist 482910.';
$mail->isHTML(true);
$mail->addAttachment('invoice.pdf');
$mail->send();
