swaks --server "$SMTP_HOST:$SMTP_PORT" ${SMTP_STARTTLS:+--tls --tls-verify} \
  ${SMTP_USER:+--auth --auth-user "$SMTP_USER" --auth-password "$SMTP_PASSWORD"} \
  --from hello@shop.example --to "$MAIL_TO" \
  --header 'From: Café Größe <hello@shop.example>' --header 'Subject: Grüße: 482910 ist Ihr Code 🎉' \
  --attach-type 'text/plain; charset=utf-8' --attach-body 'Grüße! Ihr Code ist 482910.' \
  --attach-type 'text/html; charset=utf-8' --attach-body '<p>Grüße! Ihr Code ist <b>482910</b>.</p>' \
  --attach-type application/pdf --attach-name invoice.pdf --attach @invoice.pdf
