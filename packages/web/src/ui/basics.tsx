import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { copy } from '../lib/actions.ts';
import { ago, exact } from '../lib/time.ts';
import { Icon, type IconName } from './icons.tsx';

type ButtonProps = JSX.IntrinsicElements['button'] & {
  icon?: IconName;
  kind?: 'primary' | 'danger' | 'quiet';
  children?: ComponentChildren;
};

/** A button with words; `quiet` has no border until it is pointed at. */
export function Button({ icon, kind, children, class: extra, ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest} class={`button ${kind ?? ''} ${extra ?? ''}`}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A button with an icon alone, whose words are for screen readers and shown when it is pointed at. */
export function IconButton({
  icon,
  label,
  ...rest
}: Omit<ButtonProps, 'icon'> & { icon: IconName; label: string }) {
  return (
    <button
      type="button"
      data-tip={label}
      aria-label={label}
      {...rest}
      class={`icon-button ${rest.class ?? ''}`}
    >
      <Icon name={icon} />
    </button>
  );
}

/** A button whose words are shown where there is room for them, and are its title elsewhere. */
export const Verb = ({
  icon,
  label,
  ...rest
}: Omit<ButtonProps, 'icon'> & { icon: IconName; label: string }) => (
  <button
    type="button"
    data-tip={label}
    aria-label={label}
    {...rest}
    class={`button verb ${rest.class ?? ''}`}
  >
    <Icon name={icon} />
    <span class="verb-label">{label}</span>
  </button>
);

/**
 * Copies `value`; for a moment it says so.
 * @param value a function where making the text costs something
 */
export function CopyButton({
  value,
  what,
  label,
  children,
}: {
  value: string | (() => string);
  what: string;
  /** The words of a common button. */
  label?: string;
  /** Stands in a chip, such as a code. */
  children?: ComponentChildren;
}) {
  const [isDone, setDone] = useState(false);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const run = async (event: MouseEvent) => {
    event.preventDefault();
    event.stopPropagation();
    setDone(await copy(typeof value === 'string' ? value : value(), what));
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setDone(false), 1_500) as unknown as number;
  };
  return (
    <button
      type="button"
      class={children ? 'copy-chip' : label ? 'button' : 'icon-button'}
      onClick={run}
      title={`Copy ${what}`}
    >
      {children}
      <Icon name={isDone ? 'check' : 'copy'} />
      {label ?? <span class="visually-hidden">Copy {what}</span>}
    </button>
  );
}

/** A one-time code that is copied by a click. */
export const CodeChip = ({ value }: { value: string }) => (
  <CopyButton value={value} what={`code ${value}`}>
    <b class="code">{value}</b>
  </CopyButton>
);

/** A relative time with the exact one as its title. */
export const Ago = ({ time }: { time: string }) => (
  <time dateTime={time} title={exact(time)}>
    {ago(time)}
  </time>
);

export const Badge = ({
  kind,
  children,
}: {
  kind?: 'ok' | 'warn' | 'bad' | 'info' | undefined;
  children: ComponentChildren;
}) => <span class={`badge ${kind ?? ''}`}>{children}</span>;

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  children: ComponentChildren;
}

/** A labelled form control. */
export const Field = ({ label, hint, error, children }: FieldProps) => (
  <label class="field">
    <span class="field-label">{label}</span>
    {children}
    {hint && <span class="field-hint">{hint}</span>}
    {error && (
      <span class="field-error" role="alert">
        {error}
      </span>
    )}
  </label>
);

/** A search field with its icon; the key `/` focuses it. Accepts the props of `<input>`. */
export const SearchField = ({
  help,
  ...props
}: Omit<JSX.IntrinsicElements['input'], 'type' | 'list' | 'role'> & {
  /** What can be written, shown while the field has the focus. */
  help?: ComponentChildren;
}) => (
  <span class="search">
    <Icon name="search" />
    <input type="search" {...props} {...(help && { 'aria-describedby': 'search-help' })} />
    {help && (
      <span class="search-help" id="search-help">
        {help}
      </span>
    )}
  </span>
);

/** Text as it is typed in a terminal or file, with a button that copies all of it. */
export const Snippet = ({ text, what }: { text: string; what: string }) => (
  <div class="snippet">
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls sideways, also by keyboard. */}
    <pre tabIndex={0}>{text}</pre>
    <CopyButton value={text} what={what} />
  </div>
);

/** The head of a screen: its one heading, which gets the focus after a navigation, and its verbs. */
export function ScreenHead({
  title,
  lead,
  children,
}: {
  title: ComponentChildren;
  lead?: ComponentChildren;
  children?: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body || document.activeElement === null) {
      heading.current?.focus({ preventScroll: true });
    }
  }, []);
  return (
    <header class="screen-head">
      <div class="screen-title">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {lead && <div class="lead">{lead}</div>}
      </div>
      {children && <div class="verbs">{children}</div>}
    </header>
  );
}
