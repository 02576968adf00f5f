import { useLayoutEffect, useRef } from 'preact/hooks';
import { query, setQuery } from '../../lib/router.ts';
import { Button, Field } from '../../ui/basics.tsx';
import { pasted, TEXTS, waitIn } from './wait.ts';

const PLACEHOLDERS = { from: 'no-reply@', to: 'ada+', subject: 'confirm', text: 'your code' };

/** Parameters of the wait that the form has no field for; they stay until they are removed. */
const FURTHER = ['rcptTo', 'hasAttachments', 'count', 'link.text', 'link.kind'];

function others(search: URLSearchParams): [name: string, value: string][] {
  const { link, code } = waitIn(search).match;
  const names = [
    ...FURTHER,
    ...(code === false ? ['code'] : []),
    ...(typeof link === 'boolean' ? ['link'] : []),
  ];
  return [...search].filter(([name]) => names.includes(name));
}

interface ConditionsProps {
  /** False where the conditions are given: then the answer comes first. */
  isOpen: boolean;
  onToggle: (isOpen: boolean) => void;
  /** Called where the form is submitted without a change. */
  onSame: () => void;
}

/** The conditions in one line, such as `subject: reset · code: true`. */
const inWords = (search: URLSearchParams): string =>
  [...search]
    .filter(([name]) => name !== 'wait' && !name.startsWith('label.'))
    .map(([name, value]) => `${name}: ${value}`)
    .join(' · ');

export const CONDITIONS_ID = 'conditions';

/** What the test waits for. */
export function Conditions({ isOpen, onToggle, onSame }: ConditionsProps) {
  const search = query.value;
  const form = useRef<HTMLFormElement>(null);
  const { match } = waitIn(search);
  const further = others(search);
  const isFurther = (one: string) => further.some(([name]) => name === one);
  // The fields follow the address of the page; the focus stays where it is.
  const shown = search.toString();
  useLayoutEffect(() => form.current?.reset(), [shown]);
  const show = (changes: Record<string, string | null>) => {
    // From here on the answer is that of now.
    setQuery({ wait: null, ...changes });
    if (query.value.toString() === shown) onSame();
  };
  const entered = () => {
    const data = new FormData(form.current ?? undefined);
    const names = [...TEXTS, 'link', 'link.href', 'since', 'code'].filter((name) => !isFurther(name));
    return Object.fromEntries(names.map((name) => [name, String(data.get(name) ?? '') || null]));
  };
  return (
    <details
      id={CONDITIONS_ID}
      class="panel"
      open={isOpen}
      onToggle={(event) => onToggle(event.currentTarget.open)}
    >
      <summary>
        <h2>What the test waits for</h2>
        <span class="muted mono">{inWords(search) || 'any message'}</span>
      </summary>
      <form
        ref={form}
        onSubmit={(event) => {
          event.preventDefault();
          show(entered());
        }}
        onPaste={(event) => {
          const found = pasted(event.clipboardData?.getData('text') ?? '');
          if (!found) return;
          event.preventDefault();
          show(found);
        }}
      >
        <div class="form-grid">
          {TEXTS.map((name) => (
            <Field key={name} label={name.charAt(0).toUpperCase() + name.slice(1)}>
              <input
                name={name}
                defaultValue={search.get(name) ?? ''}
                placeholder={PLACEHOLDERS[name]}
                autocomplete="off"
              />
            </Field>
          ))}
          <Field label="Link contains">
            <input
              name="link"
              defaultValue={isFurther('link') ? '' : (search.get('link') ?? '')}
              placeholder="/confirm"
              autocomplete="off"
            />
          </Field>
          <Field label="Since" hint="A cursor, a message id or a time">
            <input name="since" defaultValue={search.get('since') ?? ''} autocomplete="off" />
          </Field>
        </div>
        {further.length > 0 && (
          <div class="choices">
            {further.map(([name, value]) => (
              <Button
                key={name}
                icon="close"
                class="mono"
                title={`Remove the condition ${name}`}
                onClick={() => show({ ...entered(), [name]: null })}
              >
                {name}: {value}
              </Button>
            ))}
          </div>
        )}
        <div class="row-line wrap">
          <label class="row-line">
            <input
              type="checkbox"
              name="code"
              value="true"
              disabled={isFurther('code')}
              defaultChecked={match.code === true}
            />{' '}
            has a one-time code
          </label>
          <span class="small muted grow">Paste the JSON of a wait anywhere in this form.</span>
          <Button kind="primary" icon="refresh" type="submit">
            Look again
          </Button>
        </div>
      </form>
    </details>
  );
}
