import { type Static, Type } from 'typebox';
import { ref } from '../ref.ts';

/** A domain under which the account may have inboxes. */
export const ServedDomain = Type.Object(
  {
    domain: Type.String({ description: 'The domain.', examples: ['mayfly.test'] }),
    default: Type.Boolean({ description: 'Whether new inboxes use this domain if the request names none.' }),
    shared: Type.Boolean({ description: 'True if every account may use it, false if only yours may.' }),
  },
  { $id: 'ServedDomain', description: 'A domain that the account may use for inboxes.' },
);
export type ServedDomain = Static<typeof ServedDomain>;

export const DomainList = Type.Object(
  { domains: Type.Array(ref(ServedDomain), { description: 'The default first, then the others by name.' }) },
  { $id: 'DomainList', description: 'The domains that the account may use.' },
);
export type DomainList = Static<typeof DomainList>;
