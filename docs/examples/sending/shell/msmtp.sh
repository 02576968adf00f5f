umask 077
cat > msmtprc <<END
account default
host $SMTP_HOST
port $SMTP_PORT
from hello@shop.example
${SMTP_USER:+auth plain
user $SMTP_USER
password $SMTP_PASSWORD}
${SMTP_STARTTLS:+tls on
tls_trust_file ${SSL_CERT_FILE:-system}}
END

msmtp --file=msmtprc -- "$MAIL_TO" < mail.eml
