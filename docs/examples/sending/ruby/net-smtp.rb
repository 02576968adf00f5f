require 'net/smtp'

message = <<~MAIL
  From: =?UTF-8?Q?Caf=C3=A9_Gr=C3=B6=C3=9Fe?= <hello@shop.example>
  To: #{ENV['MAIL_TO']}
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

Net::SMTP.start(ENV['SMTP_HOST'], ENV['SMTP_PORT'].to_i,
                user: ENV['SMTP_USER'], secret: ENV['SMTP_PASSWORD']) do |smtp|
  smtp.send_message message, 'hello@shop.example', ENV['MAIL_TO']
end
