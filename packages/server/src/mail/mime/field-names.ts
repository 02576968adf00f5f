/*
 * Names of header fields that occur in mail, from the IANA registry and from large senders.
 * They distinguish a broken header line from the first line of a text, and name the fields that are kept when
 * there are too many.
 */

/** Whole names, lower case. */
export const FIELD_NAMES: ReadonlySet<string> = new Set(
  (
    'from to cc bcc subject date sender reply-to message-id in-reply-to references comments keywords ' +
    'return-path received received-spf delivered-to envelope-to apparently-to mime-version content-type ' +
    'content-transfer-encoding content-disposition content-id content-description content-location ' +
    'content-language authentication-results dkim-signature domainkey-signature list-unsubscribe ' +
    'list-unsubscribe-post list-id precedence importance sensitivity organization user-agent ' +
    'errors-to auto-submitted feedback-id return-receipt-to disposition-notification-to ' +
    'thread-topic thread-index mail-followup-to'
  ).split(' '),
);

/** Beginnings of names that families of fields share, lower case. */
export const FIELD_PREFIXES =
  /^(?:x|content|list|arc|resent|dkim|authentication|received|autocrypt|bimi|mime)-/;
