/** What looks like the end of the data to some servers, and is not (RFC 5321 section 4.1.1.4). */
export const FALSE_ENDS = [
  '\n.\n',
  '\n.\r\n',
  '\r\n.\n',
  '\r.\r',
  '\r.\n',
  '\n.\r',
  '\r.\r\n',
  '\r\n.\r',
  '\r\n.\r\r\n',
  '\r\r\n.\r\r\n',
  '\r\n\0.\r\n',
  '\r\n.\0\r\n',
];
