import { GENERAL_SETTINGS } from './general-settings.ts';
import { HTTP_SETTINGS } from './http-settings.ts';
import { SMTP_SETTINGS } from './smtp-settings.ts';

/** All settings, in the order of the documentation. */
export const SETTINGS = { ...HTTP_SETTINGS, ...SMTP_SETTINGS, ...GENERAL_SETTINGS };
