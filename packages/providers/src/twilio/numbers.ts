import { TwilioError } from './errors.ts';

/** E.164 with the plus sign. */
const NUMBER = /^\+[1-9]\d{6,14}$/;
const SHORT_CODE = /^\d{3,8}$/;
const SENDER_NAME = /^(?=.*[A-Za-z])[\w &+-]{1,11}$/;
/** Separators between digits. */
const SEPARATORS = /[\s().-]/g;
/** Longest quoted number: enough to recognise it. */
const MAX_SHOWN = 100;

export const shortened = (text: string): string => text.slice(0, MAX_SHOWN);

const numberIn = (text: string): string | undefined => {
  const digits = text.replaceAll(SEPARATORS, '');
  return NUMBER.test(digits) ? digits : undefined;
};

/** Validates a recipient. @throws TwilioError */
export function recipientOf(text: string | undefined): string {
  if (!text) throw new TwilioError(21604, "A 'To' phone number is required.");
  const number = numberIn(text);
  if (number) return number;
  throw new TwilioError(
    21211,
    `The 'To' number ${shortened(text)} is not a valid phone number. Write it in E.164 format, such as +15125550123.`,
  );
}

/** Validates a number, short code or sender name. @throws TwilioError */
export function senderOf(text: string): string {
  const sender = numberIn(text) ?? text;
  if (NUMBER.test(sender) || SHORT_CODE.test(sender) || SENDER_NAME.test(sender)) return sender;
  throw new TwilioError(
    21212,
    `The 'From' number ${shortened(text)} is not a valid phone number, short code or alphanumeric sender ID.`,
  );
}

/** A placeholder mail address for the sender of an SMS, to which no mail can be sent (RFC 6761 section 6.4). */
export const mailboxOfSender = (sender: string) => ({
  name: sender,
  address: `${sender.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase()}@sms.invalid`,
});

/** `+15125550123` for `15125550123@mayfly.test`. */
export const numberOfAddress = (address: string): string => `+${address.slice(0, address.lastIndexOf('@'))}`;

const GSM = /^[@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&'()*+,\-./0-9:;<=>?¡A-ZÄÖÑÜ§¿a-zäöñüà\f^{}\\[~\]|€]*$/;
const GSM_EXTENSION = /[\f^{}\\[~\]|€]/g;

/** Number of SMS segments of a text: GSM 7-bit (3GPP TS 23.038), where some characters count twice, else UTF-16. */
export function segmentsOf(text: string): number {
  const isGsm = GSM.test(text);
  const length = isGsm ? text.length + (text.match(GSM_EXTENSION)?.length ?? 0) : text.length;
  const [single, part] = isGsm ? [160, 153] : [70, 67];
  return length <= single ? 1 : Math.ceil(length / part);
}
