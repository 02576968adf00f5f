import { CopyButton } from './basics.tsx';

/** A value that is shown once. @param what names it where it is copied */
export const Shown = ({ label, what, value }: { label: string; what: string; value: string }) => (
  <div class="field">
    <span class="field-label">{label}</span>
    <div class="snippet">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls sideways, also by keyboard. */}
      <pre tabIndex={0} class="whole">
        {value}
      </pre>
      <CopyButton value={value} what={what} />
    </div>
  </div>
);
