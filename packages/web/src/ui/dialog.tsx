import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button, IconButton } from './basics.tsx';

interface DialogProps {
  title: string;
  onClose: () => void;
  isWide?: boolean;
  children: ComponentChildren;
}

/** A modal dialog; the browser keeps the focus inside and gives it back. */
export function Dialog({ title, onClose, isWide, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const pressed = useRef<EventTarget | null>(null);
  // Before the next key: an effect comes after the next frame.
  useLayoutEffect(() => {
    element.current?.showModal();
  }, []);
  return (
    <dialog
      ref={element}
      class={isWide ? 'wide' : ''}
      aria-label={title}
      onClose={onClose}
      onPointerDown={({ target }) => {
        pressed.current = target;
      }}
      onClick={({ target }) => {
        // Text that is selected beyond the edge ends with a click on the dialog, but did not begin there.
        if (target === element.current && pressed.current === target) onClose();
      }}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <div class="dialog-head">
        <h2>{title}</h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </div>
      {children}
    </dialog>
  );
}

interface DialogFormProps {
  /** What the form does. */
  verb: string;
  onSubmit: (form: FormData) => Promise<void>;
  onClose: () => void;
  children: ComponentChildren;
}

/** The form of a dialog; a second Enter while it is sent does nothing. */
export function DialogForm({ verb, onSubmit, onClose, children }: DialogFormProps) {
  const [isBusy, setBusy] = useState(false);
  return (
    <form
      onSubmit={async (event) => {
        event.preventDefault();
        setBusy(true);
        await onSubmit(new FormData(event.currentTarget)).finally(() => setBusy(false));
      }}
    >
      <div class="dialog-body">{children}</div>
      <div class="dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={isBusy}>
          {verb}
        </Button>
      </div>
    </form>
  );
}

/** The end of a dialog that only shows something. */
export const DoneFoot = ({ onClose }: { onClose: () => void }) => (
  <div class="dialog-foot">
    <Button kind="primary" onClick={onClose}>
      Done
    </Button>
  </div>
);

interface ConfirmProps {
  title: string;
  verb: string;
  /** False while something has to be entered before. */
  isAllowed?: boolean;
  onConfirm: () => void;
  onClose: () => void;
  children: ComponentChildren;
}

/** Asks before something that cannot be undone. */
export const Confirm = ({ title, verb, isAllowed = true, onConfirm, onClose, children }: ConfirmProps) => (
  <Dialog title={title} onClose={onClose}>
    <div class="dialog-body">{children}</div>
    <div class="dialog-foot">
      <Button onClick={onClose}>Cancel</Button>
      <Button
        kind="danger"
        autofocus
        disabled={!isAllowed}
        onClick={() => {
          onClose();
          onConfirm();
        }}
      >
        {verb}
      </Button>
    </div>
  </Dialog>
);
