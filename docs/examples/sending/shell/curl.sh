curl --silent --show-error --url "smtp://$SMTP_HOST:$SMTP_PORT" \
  ${SMTP_USER:+--user "$SMTP_USER:$SMTP_PASSWORD"} ${SMTP_STARTTLS:+--ssl-reqd} \
  --mail-from hello@shop.example --mail-rcpt "$MAIL_TO" \
  -H 'From: Café Größe <hello@shop.example>' -H "To: $MAIL_TO" -H 'Subject: Grüße: 482910 ist Ihr Code 🎉' \
  -F '=(;type=multipart/alternative' \
  -F '=Grüße! Ihr Code ist 482910.;type=text/plain; charset=utf-8' \
  -F '= <p>Grüße! Ihr Code ist <b>482910</b>.</p>;type=text/html; charset=utf-8' \
  -F '=)' \
  -F '=@invoice.pdf;encoder=base64'
