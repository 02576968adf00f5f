require 'mail'

Mail.defaults do
  delivery_method :smtp,
                  address: ENV['SMTP_HOST'],
                  port: ENV['SMTP_PORT'].to_i,
                  user_name: ENV['SMTP_USER'],
                  password: ENV['SMTP_PASSWORD']
end

Mail.deliver do
  from 'Café Größe <hello@shop.example>'
  to ENV['MAIL_TO']
  subject 'Grüße: 482910 ist Ihr Code 🎉'
  text_part do
    body 'Grüße! Ihr Code ist 482910.'
  end
  html_part do
    content_type 'text/html; charset=UTF-8'
    body '<p>Grüße! Ihr Code ist <b>482910</b>.</p>'
  end
  add_file 'invoice.pdf'
end
