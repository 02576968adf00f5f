openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 \
  -subj '/CN=Test authority' -addext 'keyUsage=critical,keyCertSign' -keyout ca-key.pem -out ca.pem
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 \
  -CA ca.pem -CAkey ca-key.pem -subj '/CN=localhost' -addext 'basicConstraints=critical,CA:FALSE' \
  -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' -keyout key.pem -out cert.pem
