import type { api } from '@mayfly/client';
import { useState } from 'preact/hooks';
import { toast, wordsOf } from '../../lib/actions.ts';
import { person } from '../../lib/format.ts';
import { href, navigate } from '../../lib/router.ts';
import { mayfly } from '../../lib/session.ts';
import { Field } from '../../ui/basics.tsx';
import { Dialog, DialogForm } from '../../ui/dialog.tsx';

/** A reply to the application, as the recipient of the mail would write it. */
export function ReplyDialog({ message, onClose }: { message: api.Message; onClose: () => void }) {
  const [problem, setProblem] = useState('');
  const { inboxId, id, from, replyTo } = message;
  const submit = async (data: FormData) => {
    try {
      await mayfly.call('POST /v1/inboxes/{id}/messages/{messageId}/reply', {
        path: { id: inboxId, messageId: id },
        body: { text: String(data.get('text')), all: data.has('all') },
      });
      toast('The reply is on its way');
      onClose();
      navigate(href(`/inboxes/${inboxId}/sent`));
    } catch (error) {
      setProblem(wordsOf(error));
    }
  };
  return (
    <Dialog title="Reply" onClose={onClose}>
      <DialogForm verb="Send" onSubmit={submit} onClose={onClose}>
        <Field label={`To ${person(replyTo[0] ?? from)}; the mail is quoted below`} error={problem}>
          <textarea autofocus name="text" rows={6} required />
        </Field>
        <label class="row-line">
          <input type="checkbox" name="all" /> Also to its other recipients
        </label>
      </DialogForm>
    </Dialog>
  );
}
