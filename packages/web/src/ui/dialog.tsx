import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
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
      onClick={(event) => {
        if (event.target === element.current) onClose();
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

/** The end of a form in a dialog. @param verb what the form does */
export const FormFoot = ({
  verb,
  onClose,
  isBusy = false,
}: {
  verb: string;
  onClose: () => void;
  isBusy?: boolean;
}) => (
  <div class="dialog-foot">
    <Button onClick={onClose}>Cancel</Button>
    <Button kind="primary" type="submit" disabled={isBusy}>
      {verb}
    </Button>
  </div>
);

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
