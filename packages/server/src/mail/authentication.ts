/** What is known of a mail's sender: one word of RFC 8601 section 2.7 each, such as `pass` or `none`. */
export interface MailAuthentication {
  /** May the sending host send for the MAIL FROM domain, or for the HELO name of a bounce (RFC 7208)? */
  spf: string;
  /** The best of the mail's signatures (RFC 6376). */
  dkim: string;
  /** Did one of the two pass for the domain of the From header (RFC 9989)? */
  dmarc: string;
}
